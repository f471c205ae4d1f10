package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// settleRemoved takes out of the ledger what is off the host, and what nobody looks after any more.
func (c *custody) settleRemoved(ctx context.Context, v host.View, out ending, b *ledger.Batch) error {
	b.Put = append(b.Put, out.pruned.released...)
	b.Drop = append(b.Drop, out.pruned.dropped...)
	for i := range out.removed {
		res := &out.removed[i]
		if t, ok := res.Node.(tasks.Restoration); ok && res.State == graph.Done {
			b.Drop = append(b.Drop, t.Key) // it is nobody's again
			continue
		}
		r, ok := res.Node.(tasks.Removal)
		if !ok || res.State != graph.Done {
			continue
		}
		switch live, err := r.Keeper.Live(ctx, v); {
		case errors.Is(err, host.ErrNotHere):
		case err != nil:
			return fmt.Errorf("look for %s, which was removed: %w", r.Key, err)
		case live == "":
			b.Drop = append(b.Drop, r.Key)
		default: // a directory that others use
			e := c.led.Entries()[r.Key]
			e.Released, e.Pending = true, false
			b.Put = append(b.Put, e)
		}
	}
	return nil
}

// revise numbers the set: the one that it had, or the next.
func (c *custody) revise(h *host.Host, out ending, b *ledger.Batch) error {
	was := c.led.Head()
	if was.Print == c.set.Print && was.Current != 0 {
		return nil
	}
	kept, _ := ledger.Revisions(h) // a damaged one is as good as none here
	at := slices.IndexFunc(kept, func(r ledger.Revision) bool { return r.Print == c.set.Print })
	if at < 0 {
		at = slices.IndexFunc(kept, func(r ledger.Revision) bool { return r.Number == was.Current && c.set.Same(r) })
	}
	if at >= 0 && kept[at].Number == was.Current {
		return nil
	}
	if was.Held == nil {
		b.Head.Former = was.Current
	}
	if at >= 0 {
		b.Head.Current = kept[at].Number
		return nil
	}
	number, err := c.led.NextRevision(h)
	if err != nil {
		return err
	}
	d := out.desired
	rev := &ledger.Revision{
		Number: number, Time: time.Now().UTC().Truncate(time.Second), By: out.by, Print: c.set.Print,
		Cluster: d.Node.Cluster, NodeGroup: d.Node.NodeGroup, Node: d.Node.Name, Network: d.Network(), Declared: d.Declared(),
		Store: d.Snapshot.Origin, Generation: d.Snapshot.Generation, Digest: d.Snapshot.Digest,
	}
	if out.proof != nil {
		rev.Proofs, rev.Unproved = out.proof.Probes, out.proof.Unproved
	}
	for _, rec := range c.set.All() {
		rev.Tasks = append(rev.Tasks, rec.Recorded)
		b.Blobs = append(b.Blobs, rec.Contents...)
	}
	b.Revision, b.Head.Current = rev, number
	return nil
}
