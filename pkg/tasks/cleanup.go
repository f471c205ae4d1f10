package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Cleanup removes what a network left on the node. It belongs to a switch of networks, or to a
// change of mode within one network. No ledger has it, because what it removes was never the
// agent's. It may cut the node off, so it is made under a checkpoint.
type Cleanup struct {
	Meta
	Network string
	Part    string // of the network's residue, where several tasks share it: "files"; "": all
	Residue FindRemover
	// Successor is what replaces the removed things, where it must be in use before: a network's
	// other mode. Nil: Plan waits for nothing.
	Successor Successor
}

// Successor reports whether the replacement of something is in use on this node. Package cleanup
// implements it.
type Successor interface {
	// Active returns nil where the replacement is in use, and otherwise a [graph.Wait] that says
	// what would show it. It writes nothing. Plan calls it only where there is something to remove.
	Active(ctx context.Context, v host.View) error
}

// FindRemover finds what a network left on a node, and removes it. The Selection of package cleanup
// implements it.
type FindRemover interface {
	// Find lists what there is, in the order of its removal. It writes nothing.
	Find(ctx context.Context, v host.View) ([]Found, error)
	// Remove removes it. One thing that cannot be removed does not stop the removal of the others.
	// Remove may be retried.
	Remove(ctx context.Context, h *host.Host) error
}

// Found is one thing that a network left on this host.
type Found struct {
	Key graph.Key
	// Detail describes it in the words of the tool that shows it: "vxlan, up", "blackhole
	// 10.2.0.0/24 proto 80".
	Detail string
}

var _ Task = Cleanup{}

// KindCleanup is the kind of a cleanup's key: cleanup:calico.
const KindCleanup = "cleanup"

// KindChain is the kind of the key of an iptables chain, or of rules in one, which share the key:
// "iptables:ip/nft/nat/cali-POSTROUTING".
const KindChain = "iptables"

// CleanupKey is the key of what a network left.
func CleanupKey(network string) graph.Key { return graph.MakeKey(KindCleanup, network) }

// Owns implements [Task].
func (t Cleanup) Owns() []graph.Key {
	return []graph.Key{CleanupKey(strings.TrimSpace(t.Network + " " + t.Part))}
}

// Plan implements [Task]. It returns one item for each thing that is there.
func (t Cleanup) Plan(ctx context.Context, v host.View) (*Change, error) {
	found, err := t.Residue.Find(ctx, v)
	if errors.Is(err, host.ErrNoLiveState) {
		return notApplicable(t.Owns()[0], Remove), nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for what %s left: %w", t.Network, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	if t.Successor != nil {
		if err := t.Successor.Active(ctx, v); err != nil {
			return nil, err
		}
	}
	change := &Change{Reason: "left by " + t.Network, Disruption: MayCutOff}
	for _, f := range found {
		if f.Key.Kind() == KindFile {
			if err := v.Files.Removable(f.Key.Name()); err != nil { // report it before pods are disturbed
				return nil, &UnremovableError{f.Key, err}
			}
		}
		change.Items = append(change.Items, Item{Key: f.Key, Op: Remove, Fields: []Field{{Name: f.Detail}}})
		if f.Key.Kind() != KindRule && f.Key.Kind() != KindChain {
			change.Pending = append(change.Pending, host.Fact{Key: string(f.Key), Gone: true})
		}
	}
	return change, nil
}

// Apply implements [Task].
func (t Cleanup) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	if err := t.Residue.Remove(ctx, h); err != nil {
		return fmt.Errorf("remove what %s left: %w", t.Network, err)
	}
	left, err := t.Residue.Find(ctx, h.Live.View())
	if err != nil || len(left) == 0 {
		return err
	}
	var names []string
	for _, f := range left {
		names = append(names, string(f.Key))
	}
	stop := "stop it first (remove its DaemonSet from the cluster)"
	if t.Successor != nil {
		stop = "restart it with its new settings"
	}
	return graph.Transient(fmt.Errorf("remove what %s left: it is there again: %s: its agent still runs here: %s",
		t.Network, strings.Join(names, ", "), stop))
}
