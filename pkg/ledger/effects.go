package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// PendingEffects are those that were asked for and are not known to have been done, each with who
// asked for it. Safe for several goroutines.
type PendingEffects struct {
	mu     sync.Mutex
	queue  map[string]pendingEffect
	saved  string // queue as it is on disk
	saving sync.Mutex
}

type pendingEffect struct {
	By []string `json:"by"` // the keys that asked for it
	// Attempted is what systemd showed just before the last attempt, with every change that asked
	// for it in place: once systemd shows something else, it was done. Nil: none since the last
	// change.
	Attempted *string `json:"tried,omitempty"`
}

// load reads what an earlier run left. After an error there is none.
func (p *PendingEffects) load(r Reader) error {
	data, err := r.ReadFile(effectsFile)
	if isMissing(err) {
		return nil
	}
	if err == nil {
		p.saved = string(data)
		if err = json.Unmarshal(data, &p.queue); err == nil && p.queue == nil {
			err = errors.New("it holds null")
		}
	}
	if err != nil {
		p.queue = map[string]pendingEffect{}
	}
	return err
}

// List returns them, with who asked for each.
func (p *PendingEffects) List() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string][]string, len(p.queue))
	for effect, e := range p.queue {
		out[effect] = slices.Clone(e.By)
	}
	return out
}

// Enqueue notes, before a change is made, that it asks for an effect.
func (p *PendingEffects) Enqueue(effect, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.queue[effect]
	e.Attempted = nil
	if !slices.Contains(e.By, by) {
		e.By = append(slices.Clone(e.By), by)
		slices.Sort(e.By)
	}
	p.queue[effect] = e
}

// Attempt notes, when all changes that ask for an effect are in place, that it is about to be done,
// and what systemd shows before. [PendingEffects.Save] must follow before it is done: so a run that
// is killed right after it does not do it twice.
func (p *PendingEffects) Attempt(effect, mark string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, pending := p.queue[effect]; pending {
		e.Attempted = &mark
		p.queue[effect] = e
	}
}

// Attempted returns the effects that were about to be done when a run ended, with what systemd
// showed before.
func (p *PendingEffects) Attempted() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]string{}
	for effect, e := range p.queue {
		if e.Attempted != nil {
			out[effect] = *e.Attempted
		}
	}
	return out
}

// Ack notes that an effect was done.
func (p *PendingEffects) Ack(effect string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.queue, effect)
}

// Cancel takes back that by asked for an effect: its change was not made.
func (p *PendingEffects) Cancel(effect, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.queue[effect]
	e.By = slices.DeleteFunc(slices.Clone(e.By), func(b string) bool { return b == by })
	if p.queue[effect] = e; len(e.By) == 0 {
		delete(p.queue, effect)
	}
}

// Save writes them, durably, if they differ from what is on disk. The agent calls it before the
// first change of a pass, before each effect, and at its end.
func (p *PendingEffects) Save(ctx context.Context, w Writer) error {
	p.saving.Lock() // the newest is written last
	defer p.saving.Unlock()
	p.mu.Lock()
	data, err := json.MarshalIndent(p.queue, "", "  ")
	same := string(data) == p.saved || (len(p.queue) == 0 && p.saved == "")
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("encode what is owed: %w", err)
	}
	if same {
		return nil
	}
	if err := write(ctx, w, effectsFile, data); err != nil {
		return unwritten(err)
	}
	p.mu.Lock()
	p.saved = string(data)
	p.mu.Unlock()
	return nil
}
