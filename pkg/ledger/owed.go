package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
)

// debt is an effect that was asked for and is not known to have been done.
type debt struct {
	By []string `json:"by"` // the keys that asked for it
	// Tried is what systemd showed just before it was last tried, with every change that asked for
	// it in place: once systemd shows something else, it was done. Nil: it was not tried since the
	// last change.
	Tried *string `json:"tried,omitempty"`
}

// Owed returns the effects that an earlier run asked for and did not do, with who asked.
func (l *Ledger) Owed() map[string][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make(map[string][]string, len(l.owed))
	for effect, d := range l.owed {
		out[effect] = slices.Clone(d.By)
	}
	return out
}

// Owe notes, before a change is made, that it asks for an effect.
func (l *Ledger) Owe(effect, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.owed[effect]
	d.Tried = nil
	if !slices.Contains(d.By, by) {
		d.By = append(slices.Clone(d.By), by)
		sort.Strings(d.By)
	}
	l.owed[effect] = d
}

// Try notes, when all changes that ask for an effect are in place, that it is about to be done, and
// what systemd shows before. [Ledger.SaveOwed] must follow before it is done: so a run that is
// killed right after it does not do it twice.
func (l *Ledger) Try(effect, mark string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d, owed := l.owed[effect]; owed {
		d.Tried = &mark
		l.owed[effect] = d
	}
}

// Tried returns the effects that were about to be done when a run ended, with what systemd showed
// before.
func (l *Ledger) Tried() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]string{}
	for effect, d := range l.owed {
		if d.Tried != nil {
			out[effect] = *d.Tried
		}
	}
	return out
}

// Paid notes that an effect was done.
func (l *Ledger) Paid(effect string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owed, effect)
}

// Forgive takes back that by asked for an effect: its change was not made.
func (l *Ledger) Forgive(effect, by string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.owed[effect]
	d.By = slices.DeleteFunc(slices.Clone(d.By), func(b string) bool { return b == by })
	if l.owed[effect] = d; len(d.By) == 0 {
		delete(l.owed, effect)
	}
}

// SaveOwed writes what is owed, durably, if that differs from what is on
// disk. The agent calls it before the first change of a pass, before each effect, and at its end.
func (l *Ledger) SaveOwed(ctx context.Context, w Writer) error {
	l.saving.Lock() // the newest is written last
	defer l.saving.Unlock()
	l.mu.Lock()
	data, err := json.MarshalIndent(l.owed, "", "  ")
	same := string(data) == l.saved || (len(l.owed) == 0 && l.saved == "")
	l.mu.Unlock()
	if err != nil {
		return fmt.Errorf("encode what is owed: %w", err)
	}
	if same {
		return nil
	}
	if err := write(ctx, w, owedFile, data); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	l.mu.Lock()
	l.saved = string(data)
	l.mu.Unlock()
	return nil
}
