// Package revert makes the ledger true again after an undo. The checkpoint's journal has what the
// ledger said before the change, and every process that undoes the change restores that.
package revert

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/tasks"
)

// LedgerBefore is what the ledger said before a change that may be undone. The checkpoint's journal
// has it, so that every process that undoes the change can make the ledger true again: of what was
// undone, the agent owns nothing that it did not own before.
type LedgerBefore struct {
	By, Network    string
	Tasks          int
	Had            ledger.Network
	Fingerprint    string              `json:"Print"`
	Clean          bool                `json:"Settled"`
	PendingEffects map[string][]string `json:"Owed"`
	Keys           []EntryBefore
}

// EntryBefore is the entry of one key. Was is nil if there was none.
type EntryBefore struct {
	Key graph.Key
	Was *ledger.Entry `json:",omitempty"`
}

// Before returns what the ledger says about a key.
func Before(led *ledger.Ledger, key graph.Key) EntryBefore {
	one := EntryBefore{Key: key}
	if e, known := led.Entries()[key]; known {
		one.Was = &e
	}
	return one
}

// Remember captures what the ledger says before a change of keys. by makes the change. count is the
// number of the network's tasks.
func Remember(
	led *ledger.Ledger, by, network string, count int, keys []graph.Key,
) (json.RawMessage, error) {
	head := led.Head()
	m := LedgerBefore{By: by, Network: network, Tasks: count, Had: head.Network, Fingerprint: head.Fingerprint,
		Clean: head.Clean, PendingEffects: led.Effects.List()}
	for _, key := range keys {
		m.Keys = append(m.Keys, Before(led, key))
	}
	out, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the ledger's entries: %w", err)
	}
	return out, nil
}

// Recorder returns a function that makes the ledger true after an undo. led is the ledger that the
// caller goes on with, or nil. The function restores only what raw, its record from the journal,
// says. If that record is damaged, it leaves the ledger as it is, and the next pass looks at what
// is pending.
func Recorder(led *ledger.Ledger) func(context.Context, *host.Host, json.RawMessage, checkpoint.Verdict) error {
	return func(ctx context.Context, h *host.Host, raw json.RawMessage, v checkpoint.Verdict) error {
		led := led
		if led == nil {
			led = ledger.Load(h.Live.Files)
		}
		if led.Newer != nil {
			return nil // what is undone stays undone; the agent that knows this ledger looks at what is pending
		}
		var m LedgerBefore
		if err := json.Unmarshal(raw, &m); err != nil {
			m = LedgerBefore{}
		}
		if err := m.restore(ctx, h, led); err != nil {
			return fmt.Errorf("record that the change was undone: %w", err)
		}
		if a := v.Awaits; a != nil && a.New && a.Set != led.Head().Current {
			if err := ledger.DropRevision(h.Files, a.Set); err != nil {
				return fmt.Errorf("record that the change was undone: %w", err)
			}
		}
		return ledger.NoteUndone(ctx, h.Files, ledger.Undone{
			Time: v.At, By: m.By, Network: m.Network, Generation: v.Generation, Digest: v.Digest, Tasks: m.Tasks,
			Bad: v.Bad, Why: v.Text(), Tries: v.Tries,
			Unconfirmed: v.Unconfirmed, Machine: v.Machine,
		})
	}
}

// restore restores the entries. After a kill it may be called again.
func (m LedgerBefore) restore(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	b := ledger.Batch{Head: led.Head()}
	b.Head.Fingerprint, b.Head.Clean, b.Head.Network = m.Fingerprint, m.Clean, m.Had
	mine, back := map[string]bool{}, map[graph.Key]bool{}
	for _, one := range m.Keys {
		mine[string(one.Key)] = true
		now, there := led.Entries()[one.Key]
		switch {
		case one.Was != nil && (!there || !ownership.SameEntry(now, *one.Was)):
			b.Put, back[one.Key] = append(b.Put, *one.Was), true
		case one.Was == nil && there && !stillOurs(ctx, h.Live.View(), now):
			b.Drop, back[one.Key] = append(b.Drop, one.Key), true
		}
	}
	for key, e := range led.Entries() { // the next pass looks at what stays
		b.Head.Clean = b.Head.Clean && (!e.Pending || back[key])
	}
	if len(b.Put)+len(b.Drop) > 0 || b.Head != led.Head() {
		if err := led.Commit(ctx, h.Files, b); err != nil {
			return err
		}
	}
	m.cancelEffects(led, mine)
	return led.Effects.Save(ctx, h.Files)
}

// stillOurs reports whether something that the change made is still there after the undo: a
// directory that others use by now.
func stillOurs(ctx context.Context, v host.View, e ledger.Entry) bool {
	if e.Mode == ledger.Found {
		return false
	}
	t, err := e.Rebuild(v.Files)
	if err != nil {
		return false
	}
	k := tasks.StateReaderOf(t, e.Key)
	if k == nil {
		return false
	}
	live, err := k.Live(ctx, v)
	return err == nil && live != ""
}

// cancelEffects removes the pending effects of the undone changes, because the undo did their
// effects after it had restored the keys.
func (m LedgerBefore) cancelEffects(led *ledger.Ledger, mine map[string]bool) {
	for effect, by := range led.Effects.List() {
		for _, key := range by {
			if mine[key] && !slices.Contains(m.PendingEffects[effect], key) {
				led.Effects.Cancel(effect, key)
			}
		}
	}
	for effect, by := range m.PendingEffects {
		for _, key := range by {
			led.Effects.Enqueue(effect, key)
		}
	}
}

// BootBooks is the access to the ledger for the judgement of a boot.
type BootBooks struct{ Ledger *ledger.Ledger }

var _ firstboot.Books = BootBooks{}

// Right implements [firstboot.Books].
func (b BootBooks) Right() string { return b.Ledger.Head().Boot }

// Forget implements [firstboot.Books].
func (b BootBooks) Forget(
	ctx context.Context, h *host.Host, keys []firstboot.Await, found firstboot.Boot,
) error {
	head := b.Ledger.Head()
	m := LedgerBefore{Had: head.Network, PendingEffects: b.Ledger.Effects.List()}
	note := noteOf(found)
	note.Tries = 1
	for _, await := range keys {
		one := EntryBefore{Key: await.Key}
		if err := json.Unmarshal(await.Before, &one); err != nil {
			return fmt.Errorf("read what the ledger said of %s: %w", await.Key, err)
		}
		m.Keys = append(m.Keys, one)
		e, known := b.Ledger.Entries()[await.Key]
		if known && e.Task == nil { // a part of another key's task
			continue
		}
		note.Keys = append(note.Keys, ledger.BootKey{Key: await.Key, Task: e.Task})
	}
	list, err := ledger.ReadBoots(h.Live.Files)
	if err != nil || !slices.ContainsFunc(list, note.Same) {
		if err := ledger.NoteBoot(ctx, h.Files, note); err != nil {
			return err
		}
	} // otherwise it was killed here before, and the ledger may already have the earlier entries
	return m.restore(ctx, h, b.Ledger)
}

// Note implements [firstboot.Books].
func (b BootBooks) Note(ctx context.Context, h *host.Host, found firstboot.Boot) error {
	note := noteOf(found)
	list, _ := ledger.ReadBoots(h.Live.Files) // a damaged record counts as none
	for _, o := range list {
		if o.Same(note) {
			note.Keys, note.Tries = o.Keys, o.Tries
		}
	}
	return ledger.NoteBoot(ctx, h.Files, note)
}

func noteOf(b firstboot.Boot) ledger.Boot {
	return ledger.Boot{
		ID: b.ID, Time: time.Now().UTC(), Generation: b.Generation, Digest: b.Digest, Names: b.Names,
		Outcome: string(b.Outcome), Why: b.Why,
	}
}
