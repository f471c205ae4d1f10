package ownership

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Ending is how a pass ended.
type Ending struct {
	changes.Work // for the wanted tasks
	Pruned       *Removals
	Removed      []tasks.Result // for the removals
	By           string
	Desired      *desired.State
	Halfway      bool         // the host does not match the set, although no task failed
	Proof        *probe.Proof // of a change that was under a checkpoint; nil: none was
}

// Commit records how a pass ended: which keys are right, with their present state, and which were
// removed. If the ledger was in step with the set, Commit looks only at what changed.
func (c *Transaction) Commit(ctx context.Context, h *host.Host, out Ending) error {
	b := ledger.Batch{Head: c.Led.Head()}
	if out.Desired.Pinned == nil {
		b.Head.FollowLinks = strings.Join(out.Desired.Node.FollowLinks, "\n")
	}
	inStep := (c.wasInStep || c.InStep()) && !out.Desired.Renamed && b.Head.FollowLinks == c.Led.Head().FollowLinks
	if inStep && b.Head.Boot == c.Led.Boot() && !out.Changes.Any() && len(out.Removed) == 0 && out.Proof == nil &&
		out.network(b.Head.Network) == b.Head.Network {
		return nil
	}
	v := h.Live.View().Snapshot()
	unseen := c.commitWanted(ctx, v, out, inStep, &b)
	if err := c.commitRemoved(ctx, v, out, &b); err != nil {
		return err
	}
	if p := out.Proof; p != nil {
		b.Head.Proof = ledger.Proof{
			At: time.Now().UTC().Truncate(time.Second), Generation: out.Desired.Snapshot.Generation,
			By: strings.Join(probe.ProofKinds(p.Probes), ","), Missing: strings.Join(p.Missing, ","),
		}
	}
	if changes.Failure(changes.Allowed(out.Rep)) == nil && !out.Halfway && unseen == nil && !c.Unnoted {
		b.Head.Fingerprint, b.Head.Boot = c.Set.Fingerprint, c.Led.Boot()
		b.Head.Network = out.network(b.Head.Network)
		b.Head.Machine = cmp.Or(host.MachineID(h.Live.Files), b.Head.Machine) // an image keeps the ID of its node
		b.Head.Clean = isClean(c.Set, c.Led, b)
		if err := c.revise(h, out, &b); err != nil {
			return err
		}
	}
	if len(b.Put) == 0 && len(b.Drop) == 0 && b.Head == c.Led.Head() && b.Revision == nil {
		return unseen
	}
	if err := c.Led.Commit(ctx, h.Files, b); err != nil {
		return errors.Join(unseen, err)
	}
	if b.Revision != nil {
		return errors.Join(c.Led.Tidy(h.Files), forgetArchives(h, c.Led))
	}
	return unseen
}

// commitWanted adds the entries of the wanted keys that are right. Where the ledger was in step
// with the set, these are the changed ones. The error names keys that could not be read: their
// entries stay pending.
func (c *Transaction) commitWanted(ctx context.Context, v host.View, out Ending, inStep bool, b *ledger.Batch) error {
	b.Put = make([]ledger.Entry, 0, len(out.Changes.ByKey))
	var unseen []error
	for i := range out.Rep.Results {
		res := &out.Rep.Results[i]
		first := res.Key
		change := out.Changes.Get(first)
		right := res.State == graph.Done && tasks.IsState(first) && out.Changes.Repairs.Later(first) == nil
		if right && inStep && change == nil {
			continue
		}
		if _, known := c.Set.Of(first); !known || !right {
			c.Undid(res, b)
			continue
		}
		if change != nil && change.NotApplicable != "" {
			continue
		}
		if err := c.commitTask(ctx, v, res.Node, change, b); err != nil {
			unseen = append(unseen, err)
		}
	}
	return errors.Join(unseen...)
}

// network returns the network of the node after the pass. It keeps the former modes until their
// cleanup is done.
func (e Ending) network(had ledger.Network) ledger.Network {
	for i := range e.Rep.Results {
		res := &e.Rep.Results[i]
		if _, ok := res.Node.(tasks.Cleanup); ok && res.State != graph.Done {
			return e.Desired.NetworkMeanwhile(had)
		}
	}
	return e.Desired.NetworkAfter(had)
}

// commitTask updates the entries of a task that is right.
func (c *Transaction) commitTask(
	ctx context.Context, v host.View, t tasks.Task, change *tasks.Change, b *ledger.Batch,
) error {
	keys := t.Owns()
	if change != nil {
		keys = append(keys, c.Parents(change)...)
	}
	for _, key := range keys {
		old, known := c.Led.Entries()[key]
		e := old
		k := tasks.StateReaderOf(t, key)
		if !known {
			var err error
			if e, err = c.enter(ctx, v, t, key); err != nil && !errors.Is(err, host.ErrNoLiveState) {
				return fmt.Errorf("look at %s for the ledger: %w", key, err)
			}
		}
		if k != nil {
			live, err := k.Live(ctx, v)
			if err != nil && !errors.Is(err, host.ErrNoLiveState) {
				return fmt.Errorf("look at %s for the ledger: %w", key, err)
			}
			e.Last = live
		}
		c.describe(&e, t, key)
		if c.Unnoted && key == t.Owns()[0] {
			c.Judge.Mark(&e)
		}
		e.Pending, e.Again, e.Untried, e.Released = false, false, false, false
		c.Judge.NameIn(&e)
		if tasks.GoneAfterBoot(t, key) {
			e.Boot = c.Led.Boot()
		}
		if !known || !SameEntry(old, e) {
			b.Put = append(b.Put, e)
			if rec, known := c.Set.Of(t.Owns()[0]); known {
				b.Blobs = append(b.Blobs, rec.Contents...)
			}
		}
	}
	return nil
}

// SameEntry reports whether the ledger would store both entries alike.
func SameEntry(a, b ledger.Entry) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// isClean reports whether nothing is open after b: no change whose end is unknown, and nothing to
// prune.
func isClean(set *desired.Records, led *ledger.Ledger, b ledger.Batch) bool {
	open := func(e ledger.Entry) bool { return e.Pending || !e.Released && !wants(set, e) }
	if slices.ContainsFunc(b.Put, open) {
		return false
	}
	settled := make(map[graph.Key]bool, len(b.Put)+len(b.Drop))
	for _, e := range b.Put {
		settled[e.Key] = true
	}
	for _, key := range b.Drop {
		settled[key] = true
	}
	for key, e := range led.Entries() {
		if !settled[key] && open(e) {
			return false
		}
	}
	return true
}

// commitRemoved drops from the ledger what is no longer on the host, and marks as released what is
// no longer managed.
func (c *Transaction) commitRemoved(ctx context.Context, v host.View, out Ending, b *ledger.Batch) error {
	b.Put = append(b.Put, out.Pruned.released...)
	b.Drop = append(b.Drop, out.Pruned.dropped...)
	for i := range out.Removed {
		res := &out.Removed[i]
		if t, ok := res.Node.(tasks.Restoration); ok && res.State == graph.Done {
			b.Drop = append(b.Drop, t.Key) // it belongs to nobody again
			continue
		}
		r, ok := res.Node.(tasks.Removal)
		if !ok || res.State != graph.Done {
			continue
		}
		switch live, err := r.Remover.Live(ctx, v); {
		case errors.Is(err, host.ErrNoLiveState):
		case err != nil:
			return fmt.Errorf("look for %s, which was removed: %w", r.Key, err)
		case live == "":
			b.Drop = append(b.Drop, r.Key)
		default: // a directory that others use
			e := c.Led.Entries()[r.Key]
			e.Released, e.Pending = true, false
			b.Put = append(b.Put, e)
		}
	}
	return nil
}
