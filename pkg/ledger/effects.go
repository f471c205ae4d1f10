package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// PendingEffects are the effects that were requested and are not known to have run, each with the
// keys that requested it. It is safe for concurrent use.
type PendingEffects struct {
	mu     sync.Mutex
	queue  map[string]pendingEffect
	saved  string // the queue as it is on disk
	saving sync.Mutex
}

type pendingEffect struct {
	By []string `json:"by"` // keys that requested it, sorted
	// Attempted is what systemd showed just before the last attempt, after every change that
	// requested the effect. If systemd shows something else later, the effect has run. Nil means no
	// attempt since the last change.
	Attempted *string `json:"tried,omitempty"`
}

// load reads the effects of an earlier run. After an error there are none.
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

// List returns the effects, with the keys that requested each.
func (p *PendingEffects) List() map[string][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string][]string, len(p.queue))
	for effect, e := range p.queue {
		out[effect] = slices.Clone(e.By)
	}
	return out
}

// Enqueue records that a change requests an effect. The caller calls it before the change.
func (p *PendingEffects) Enqueue(effect, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.queue[effect]
	e.Attempted = nil
	if i, known := slices.BinarySearch(e.By, by); !known {
		e.By = slices.Insert(e.By, i, by)
	}
	p.queue[effect] = e
}

// Attempt records that an effect is about to run, after all changes that requested it, and what
// systemd shows before it. The caller must call [PendingEffects.Save] before it runs the effect, so
// that a run that is killed after the effect does not run it twice.
func (p *PendingEffects) Attempt(effect, mark string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, pending := p.queue[effect]; pending {
		e.Attempted = &mark
		p.queue[effect] = e
	}
}

// Attempted returns the effects that were about to run when a run ended, with what systemd showed
// before.
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

// Ack records that an effect has run.
func (p *PendingEffects) Ack(effect string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.queue, effect)
}

// Cancel removes the request of a key for an effect, because its change was not made.
func (p *PendingEffects) Cancel(effect, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.queue[effect]
	e.By = slices.DeleteFunc(e.By, func(b string) bool { return b == by })
	if p.queue[effect] = e; len(e.By) == 0 {
		delete(p.queue, effect)
	}
}

// Save writes the effects durably if they differ from those on disk. The agent calls it before the
// first change of a pass, before each effect, and at the end.
func (p *PendingEffects) Save(ctx context.Context, w Writer) error {
	p.saving.Lock() // so that the newest is written last
	defer p.saving.Unlock()
	p.mu.Lock()
	data, err := json.MarshalIndent(p.queue, "", "  ")
	same := string(data) == p.saved || (len(p.queue) == 0 && p.saved == "")
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("encode the pending effects: %w", err)
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
