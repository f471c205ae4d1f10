package execute

import (
	"context"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// An effect is done once, whenever the agent is killed. That it is owed is on the disk before the
// first change that asks for it. That it is tried is on the disk before it is, with what systemd
// showed of it until then; by that the next run tells whether it was done. Only both together do:
// the first alone would do it again when the kill comes after it, the second alone would forget it
// when the kill comes before.

// try writes down that an effect is about to be done.
func (a *applier) try(ctx context.Context, t tasks.Task) error {
	e, ok := t.(tasks.Effect)
	if !ok {
		return nil
	}
	mark, err := e.Mark(ctx, a.host.Live.View())
	if err != nil {
		return err
	}
	a.ledger.Effects.Attempt(string(e.Owns()[0]), mark)
	// else it is done twice if the agent is killed now
	if err := a.ledger.Effects.Save(ctx, a.host.Files); err != nil && !a.Unwritten {
		return err
	}
	return nil
}

// AckDone strikes out what a killed run had done of what it owed. What it had only been about to do
// is done anew.
func AckDone(ctx context.Context, v host.View, led *ledger.Ledger) error {
	for effect, mark := range led.Effects.Attempted() {
		done, err := tasks.EffectOf(graph.Key(effect)).DoneSince(ctx, v, mark)
		switch {
		case errors.Is(err, host.ErrNoLiveState): // an image: the host that it is of will see
		case err != nil:
			return fmt.Errorf("see whether %s was done: %w", effect, err)
		case done:
			led.Effects.Ack(effect)
		}
	}
	return nil
}

// Enqueue writes down what planned changes will ask for, before the first of them is made. Where
// that cannot be, nothing is owed for them.
func Enqueue(ctx context.Context, h *host.Host, led *ledger.Ledger, planned *changes.Set) error {
	before := led.Effects.List()
	enqueue(led, planned)
	err := led.Effects.Save(ctx, h.Files)
	if err != nil {
		cancelUntried(led, planned, changes.NewSet(), before)
	}
	return err
}
