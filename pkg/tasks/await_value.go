package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindAwait is the kind of what only time can bring: await:pod-cidr.
const KindAwait = "await"

// Await is in the place of tasks that cannot be made yet, because a value is missing that only time
// can bring (the node's pod CIDRs). It always waits. When the value is known, the model makes the
// tasks instead.
type Await struct {
	Meta
	Name    string      `json:"What"` // "pod-cidr"
	Reason  string      // messages put "waiting for " before it
	Retains []graph.Key `json:"Keeps"` // keys of tasks that were made with an earlier value: they stay as they are
}

var _ Task = Await{}

// Owns implements [Task].
func (t Await) Owns() []graph.Key {
	return append([]graph.Key{graph.MakeKey(KindAwait, t.Name)}, t.Retains...)
}

// Plan implements [Task]: a [graph.Wait], always.
func (t Await) Plan(context.Context, host.View) (*Change, error) { return nil, graph.Wait(t.Reason) }

// Apply implements [Task]. It does nothing.
func (t Await) Apply(context.Context, *host.Host, *Change) error { return nil }
