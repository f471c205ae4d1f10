package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// ending is how a pass ended.
type ending struct {
	rep     graph.Report[tasks.Task]
	changed *changes.Set
	pruned  *pruning
	removed []graph.Result[tasks.Task] // of the removals
	by      string
	desired *desired.State
	halfway bool              // the set is not what the host has, although nothing of it failed
	proof   *checkpoint.Proof // of a change that was under a checkpoint; nil: none was
}

// settle writes down how a pass ended: what is right, with what it left there, and what went. Where
// the ledger was in step with the set, only what changed is looked at.
func (c *custody) settle(ctx context.Context, h *host.Host, out ending) error {
	b := ledger.Batch{Head: c.led.Head()}
	if out.desired.Held == nil {
		b.Head.FollowLinks = strings.Join(out.desired.Node.FollowLinks, "\n")
	}
	inStep := c.inStep() && b.Head.FollowLinks == c.led.Head().FollowLinks
	if inStep && b.Head.Boot == c.led.Boot() && !out.changed.Any() && len(out.removed) == 0 && out.proof == nil && out.desired.NetworkAfter(b.Head.Network) == b.Head.Network {
		return nil
	}
	var unseen []error
	for i := range out.rep.Results {
		res := &out.rep.Results[i]
		first := res.Node.Owns()[0]
		if _, known := c.set.Of(first); !known || res.State != graph.Done || !tasks.IsState(first) || out.changed.Repairs.Later(first) != nil {
			c.undid(res, &b)
			continue
		}
		change := out.changed.Get(first)
		if change != nil && change.NotHere != "" || inStep && change == nil {
			continue
		}
		if err := c.settleTask(ctx, h, res.Node, change, &b); err != nil {
			unseen = append(unseen, err) // its change stays one of which nothing says how it ended
		}
	}
	if err := c.settleRemoved(ctx, h, out, &b); err != nil {
		return err
	}
	if p := out.proof; p != nil {
		b.Head.Proof = ledger.Proof{
			At: time.Now().UTC().Truncate(time.Second), Generation: out.desired.Snapshot.Generation,
			By: strings.Join(checkpoint.ProofKinds(p.Probes), ","), Unproved: strings.Join(p.Unproved, ","),
		}
	}
	if changes.Failure(changes.Allowed(out.rep)) == nil && !out.halfway && len(unseen) == 0 {
		b.Head.Print, b.Head.Boot = c.set.Print, c.led.Boot()
		b.Head.Network, b.Head.Machine = out.desired.NetworkAfter(b.Head.Network), machineID(h)
		b.Head.Settled = c.settled(b)
		if err := c.revise(h, out, &b); err != nil {
			return err
		}
	}
	if len(b.Put) == 0 && len(b.Drop) == 0 && b.Head == c.led.Head() && b.Revision == nil {
		return errors.Join(unseen...)
	}
	if err := c.led.Commit(ctx, h, b); err != nil {
		return errors.Join(append(unseen, err)...)
	}
	if b.Revision != nil {
		return errors.Join(c.led.Tidy(h), forgetArchives(h, c.led))
	}
	return errors.Join(unseen...)
}

// settleTask brings the entries of one task that is right up to date.
func (c *custody) settleTask(ctx context.Context, v host.View, t tasks.Task, change *tasks.Change, b *ledger.Batch) error {
	keys := t.Owns()
	if change != nil {
		keys = append(keys, c.parents(change)...)
	}
	for _, key := range keys {
		old, known := c.led.Entries()[key]
		e := old
		k := tasks.KeeperOf(t, key)
		if !known {
			var err error
			if e, err = c.enter(ctx, v, t, key); err != nil && !errors.Is(err, host.ErrNotHere) {
				return fmt.Errorf("look at %s for the ledger: %w", key, err)
			}
		}
		if k != nil {
			live, err := k.Live(ctx, v)
			if err != nil && !errors.Is(err, host.ErrNotHere) {
				return fmt.Errorf("look at %s for the ledger: %w", key, err)
			}
			e.Last = live
		}
		c.describe(&e, t, key)
		e.Pending, e.Again, e.Untried, e.Released = false, false, false, false
		c.drift.NameIn(&e)
		if tasks.GoneAfterBoot(t, key) {
			e.Boot = c.led.Boot()
		}
		if !known || !sameEntry(old, e) {
			b.Put = append(b.Put, e)
			if rec, known := c.set.Of(t.Owns()[0]); known {
				b.Blobs = append(b.Blobs, rec.Contents...)
			}
		}
	}
	return nil
}

func sameEntry(a, b ledger.Entry) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

// settled says that after b nothing is open: no change whose end is unknown, nothing to prune.
func (c *custody) settled(b ledger.Batch) bool {
	put := map[graph.Key]bool{}
	for _, e := range b.Put {
		put[e.Key] = true
		if e.Pending || !e.Released && !c.wants(e) {
			return false
		}
	}
	for key, e := range c.led.Entries() {
		if !put[key] && !slices.Contains(b.Drop, key) && (e.Pending || !e.Released && !c.wants(e)) {
			return false
		}
	}
	return true
}
