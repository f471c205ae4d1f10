package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindAwait is the kind of what only time brings: await:pod-cidr.
const KindAwait = "await"

// Await stands for tasks that cannot be made yet because something that only time brings is missing
// (the node's pod CIDRs). It always waits; when what it waits for is known, the model makes the
// tasks in its place.
type Await struct {
	Meta
	Name    string      `json:"What"` // "pod-cidr"
	Reason  string      // "waiting for " stands before it
	Retains []graph.Key `json:"Keeps"` // what was made when it was known: it stays, as it is
}

var _ Task = Await{}

// Owns implements [Task].
func (t Await) Owns() []graph.Key {
	return append([]graph.Key{graph.MakeKey(KindAwait, t.Name)}, t.Retains...)
}

// Plan implements [Task]: a [graph.Wait], always.
func (t Await) Plan(context.Context, host.View) (*Change, error) { return nil, graph.Wait(t.Reason) }

// Apply implements [Task]. There is nothing to apply.
func (t Await) Apply(context.Context, *host.Host, *Change) error { return nil }
