// Package revert makes the ledger true again after an undo: what it said before a change lies in
// the checkpoint's journal, and whoever undoes brings it back.
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

// LedgerBefore is what the ledger said before a change that may be undone. It lies in the
// checkpoint's journal, so that whoever undoes can make the ledger true again: of what was undone
// nothing is ours that was not before.
type LedgerBefore struct {
	By, Network    string
	Tasks          int
	Had            ledger.Network
	Fingerprint    string              `json:"Print"`
	Clean          bool                `json:"Settled"`
	PendingEffects map[string][]string `json:"Owed"`
	Keys           []EntryBefore
}

// EntryBefore is the entry of one key; nil: there was none.
type EntryBefore struct {
	Key graph.Key
	Was *ledger.Entry `json:",omitempty"`
}

// Before is what the ledger says of a key.
func Before(led *ledger.Ledger, key graph.Key) EntryBefore {
	one := EntryBefore{Key: key}
	if e, known := led.Entries()[key]; known {
		one.Was = &e
	}
	return one
}

// Remember takes down what the ledger says before a change of these keys. by makes it, and the
// network has so many tasks.
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
		return nil, fmt.Errorf("encode what the ledger says: %w", err)
	}
	return out, nil
}

// Recorder makes the ledger say what is true after an undo. led is the one that the caller goes on
// with, nil where it has none. The ledger is only made poorer by what its own memory says: a
// damaged memory leaves it as it is, and what is pending is looked at by the next pass.
func Recorder(led *ledger.Ledger) func(context.Context, *host.Host, json.RawMessage, checkpoint.Verdict) error {
	return func(ctx context.Context, h *host.Host, raw json.RawMessage, v checkpoint.Verdict) error {
		led := led
		if led == nil {
			led = ledger.Load(h.Live.Files)
		}
		if led.Newer != nil {
			return nil // what is undone is; the agent that knows this ledger looks at what is pending
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

// restore brings the entries back. It may be killed and done again.
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
	for key, e := range led.Entries() { // what stays is for the next pass to look at
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

// stillOurs says that something which the change made is there after the undo: a directory that
// others use by now.
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

// cancelEffects takes back what the undone changes owed: the undo did their effects, over what it
// brought back.
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

// BootBooks are the ledger's part of judging a boot.
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
	} // else it was killed here before, and the ledger may say already what it said once
	return m.restore(ctx, h, b.Ledger)
}

// Note implements [firstboot.Books].
func (b BootBooks) Note(ctx context.Context, h *host.Host, found firstboot.Boot) error {
	note := noteOf(found)
	list, _ := ledger.ReadBoots(h.Live.Files) // a damaged one is as good as none
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
