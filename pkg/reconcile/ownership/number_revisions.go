package ownership

import (
	"context"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
)

// revise gives the set a revision number: the one that it had, or the next. A revision belongs to
// one node. The same set under another node name is another revision: otherwise the next pass would
// find the machine renamed.
func (c *Transaction) revise(h *host.Host, out Ending, b *ledger.Batch) error {
	was, d := c.Led.Head(), out.Desired
	if was.Fingerprint == c.Set.Fingerprint && was.Current != 0 && !c.Led.Baked() && !d.Renamed {
		return nil
	}
	kept, _ := ledger.Revisions(h.Live.Files) // a damaged revision counts as none here
	kept = slices.DeleteFunc(kept, func(r ledger.Revision) bool {
		return r.Node != d.Node.Name || r.NodeGroup != d.Node.NodeGroup
	})
	at := slices.IndexFunc(kept, func(r ledger.Revision) bool { return r.Fingerprint == c.Set.Fingerprint })
	if at < 0 {
		at = slices.IndexFunc(kept, func(r ledger.Revision) bool { return r.Number == was.Current && c.Set.Same(r) })
	}
	if at >= 0 && kept[at].Number == was.Current {
		return nil
	}
	if was.Pin == nil {
		b.Head.Former = was.Current
	}
	if at >= 0 {
		b.Head.Current = kept[at].Number
		return nil
	}
	number, err := c.Led.NextRevision(h.Live.Files)
	if err != nil {
		return err
	}
	rev := &ledger.Revision{
		Number: number, Time: time.Now().UTC().Truncate(time.Second), By: out.By, Fingerprint: c.Set.Fingerprint,
		Cluster: d.Node.Cluster, NodeGroup: d.Node.NodeGroup, Node: d.Node.Name, Machine: host.MachineID(h.Live.Files),
		Network: d.Network(), Declared: d.Declared(),
		Store: d.Snapshot.Origin, Generation: d.Snapshot.Generation, Digest: d.Snapshot.Digest,
	}
	if out.Proof != nil {
		rev.Proofs, rev.MissingProofs = out.Proof.Probes, out.Proof.Missing
	}
	for _, rec := range c.Set.All() {
		rev.Tasks = append(rev.Tasks, rec.Recorded)
		b.Blobs = append(b.Blobs, rec.Contents...)
	}
	if rev.Waits, err = c.Set.Waits(); err != nil {
		return err
	}
	b.Revision, b.Head.Current = rev, number
	return nil
}

// Prepare numbers the set as [Transaction.revise] does. wrote means that it had to write the
// revision. The node is not at that revision yet.
func (c *Transaction) Prepare(ctx context.Context, h *host.Host, to Ending) (n int, wrote bool, err error) {
	b := ledger.Batch{Head: c.Led.Head()}
	if err := c.revise(h, to, &b); err != nil {
		return 0, false, err
	}
	n, wrote = b.Head.Current, b.Revision != nil
	if b.Head = c.Led.Head(); wrote {
		err = c.Led.Commit(ctx, h.Files, b)
	}
	return n, wrote, err
}
