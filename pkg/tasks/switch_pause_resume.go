package tasks

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Pause stops a unit during a switch of networks, and [Resume] starts it again. They are no lasting
// state, and the ledger does not record them. Where a run ends between them, the undo of its
// checkpoint starts the unit.
type Pause struct {
	Meta
	Unit string // "kubelet.service"
}

// Resume starts a unit that [Pause] stopped in the same pass.
type Resume struct {
	Meta
	Unit string
}

var (
	_ Task = Pause{}
	_ Task = Resume{}
)

// The kinds of their keys: pause:kubelet.service, resume:kubelet.service.
const (
	KindPause  = "pause"
	KindResume = "resume"
)

// Owns implements [Task].
func (t Pause) Owns() []graph.Key { return []graph.Key{graph.MakeKey(KindPause, t.Unit)} }

// Owns implements [Task].
func (t Resume) Owns() []graph.Key { return []graph.Key{graph.MakeKey(KindResume, t.Unit)} }

// Plan implements [Task]. The change needs a checkpoint: from here on the node is between two
// networks.
func (t Pause) Plan(ctx context.Context, v host.View) (*Change, error) {
	key := graph.MakeKey(KindUnit, t.Unit)
	have, err := v.Units.Unit(ctx, t.Unit)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		return nil, nil
	case err != nil:
		return nil, err
	case !Runs(have):
		return nil, nil
	}
	after := have
	after.Active, after.Job = "inactive", false
	return &Change{
		Items:      []Item{{Key: key, Op: Update, Fields: []Field{{"state", have.Active, "inactive"}}}},
		Reason:     "no pod is created while the network changes",
		Pending:    []host.Fact{{Key: string(key), Unit: &after}},
		Disruption: MayCutOff,
	}, nil
}

// Apply implements [Task].
func (t Pause) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return h.Units.StopUnit(ctx, t.Unit, true)
}

// Plan implements [Task].
func (t Resume) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := v.Units.Unit(ctx, t.Unit)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		return nil, nil
	case err != nil:
		return nil, err
	case Runs(have):
		return nil, nil
	}
	return &Change{Items: []Item{{Key: t.Owns()[0], Op: Run}}, Reason: "it was stopped for the switch"}, nil
}

// Apply implements [Task]. It does not wait for the start: the unit may be ordered after the agent,
// and its work starts together with its pods.
func (t Resume) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return h.Units.StartUnit(ctx, t.Unit, false)
}
