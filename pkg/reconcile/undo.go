package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Undo takes back a change that was not confirmed; without one it does
// nothing. The timer and the boot call it, in a process of its own. With watches it
// watches a change that was good, and takes it back should it still cost the node its network.
func (p Pass) Undo(ctx context.Context, watches bool) error {
	opt := p.Host
	opt.Log = p.Log
	h, err := host.Open(ctx, opt)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // every write was synced and checked where it was made
	settings := p.Checkpoint
	settings.Log, settings.Record = p.Log, recorder(nil)
	settings.Lock = func(ctx context.Context) (func(), error) {
		unlock, err := ipc.Lock(ctx, p.Host.Files(), ledger.LockFile, nil)
		if err == nil {
			RecoverFirst(ctx, p.Log, h.Files.Recover)
		}
		return unlock, err
	}
	if watches {
		return checkpoint.Watch(ctx, h, settings)
	}
	_, err = checkpoint.Undo(ctx, h, settings)
	return err
}

// CheckUndo says whether Undo could read what it would take back. It changes nothing, and takes no
// lock.
func (p Pass) CheckUndo() error {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", p.Host.Root, err)
	}
	defer files.Close() // only read from
	return checkpoint.Check(files)
}

// undoDue is what a dry run says of a change that was not confirmed. One that cannot be taken back
// holds up every pass: it is an error here too.
func (p Pass) undoDue(r checkpoint.Reader) ([]report.Note, error) {
	due := checkpoint.Pending
	if !p.live() { // see finishUndo
		due = checkpoint.Unconfirmed
	}
	j, err := due(r)
	if j == nil || err != nil {
		return nil, err
	}
	if a := history.Awaits(r); a != nil {
		return []report.Note{{Level: "warning", Text: a.String() + ": nothing is changed before"}}, nil
	}
	return []report.Note{{Level: "warning",
		Text: fmt.Sprintf("a change of generation %d was not confirmed: the next pass takes it back before anything "+
			"else, or its own process confirms it", j.Generation)}}, nil
}

// finishUndo undoes what a run left that ended in the middle of its checkpoint: at once, and not
// only when the timer says so. A change that may still be confirmed stays, and is the error:
// nothing else is changed meanwhile. The caller has the lock.
func (p Pass) finishUndo(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	settings := p.Checkpoint
	settings.Log, settings.Record = p.Log, recorder(led)
	undo := checkpoint.UndoDue
	if !p.live() {
		undo = func(context.Context, *host.Host, checkpoint.Settings) (*checkpoint.Journal, error) {
			return checkpoint.Unconfirmed(h.Live.Files)
		}
	}
	j, err := undo(ctx, h, settings)
	if err != nil || j == nil || p.confirms {
		return err
	}
	return &AwaitsError{*history.AwaitsOf(j)}
}

// memory is what the ledger said before a change that may be undone. It lies in the checkpoint's
// journal, so that whoever undoes can make the ledger true again: of what was undone nothing is
// ours that was not before.
type memory struct {
	By, Network string
	Tasks       int
	Had         ledger.Network
	Print       string
	Settled     bool
	Owed        map[string][]string
	Keys        []remembered
}

// remembered is the entry of one key; nil: there was none.
type remembered struct {
	Key graph.Key
	Was *ledger.Entry `json:",omitempty"`
}

// recorder makes the ledger say what is true after an undo. led is the one that the caller goes on
// with, nil where it has none. The ledger is only made poorer by what its own memory says: a
// damaged memory leaves it as it is, and what is pending is looked at by the next pass.
func recorder(led *ledger.Ledger) func(context.Context, *host.Host, json.RawMessage, checkpoint.Verdict) error {
	return func(ctx context.Context, h *host.Host, raw json.RawMessage, v checkpoint.Verdict) error {
		led := led
		if led == nil {
			led = ledger.Load(h.Live.Files)
		}
		if led.Newer != nil {
			return nil // what is undone is; the agent that knows this ledger looks at what is pending
		}
		var m memory
		if err := json.Unmarshal(raw, &m); err != nil {
			m = memory{}
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
			Bad: v.Bad, Why: v.Told(), Tries: v.Tries,
			Unconfirmed: v.Unconfirmed,
		})
	}
}

// restore brings the entries back. It may be killed and done again.
func (m memory) restore(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	b := ledger.Batch{Head: led.Head()}
	b.Head.Print, b.Head.Settled, b.Head.Network = m.Print, m.Settled, m.Had
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
		b.Head.Settled = b.Head.Settled && (!e.Pending || back[key])
	}
	if len(b.Put)+len(b.Drop) > 0 || b.Head != led.Head() {
		if err := led.Commit(ctx, h.Files, b); err != nil {
			return err
		}
	}
	m.forgive(led, mine)
	return led.SaveOwed(ctx, h.Files)
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
	k := tasks.KeeperOf(t, e.Key)
	if k == nil {
		return false
	}
	live, err := k.Live(ctx, v)
	return err == nil && live != ""
}

// forgive takes back what the undone changes owed: the undo did their effects, over what it brought
// back.
func (m memory) forgive(led *ledger.Ledger, mine map[string]bool) {
	for effect, by := range led.Owed() {
		for _, key := range by {
			if mine[key] && !slices.Contains(m.Owed[effect], key) {
				led.Forgive(effect, key)
			}
		}
	}
	for effect, by := range m.Owed {
		for _, key := range by {
			led.Owe(effect, key)
		}
	}
}
