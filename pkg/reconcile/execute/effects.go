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

// An effect is done exactly once, even if the agent is killed. Before the first change that asks
// for an effect, the ledger records the effect as pending. Before the effect is tried, the ledger
// records the attempt, with what systemd showed about the unit until then. From that the next run
// knows whether the effect was done. Both records are needed. With the first alone, an effect would
// be done again after a kill that follows it. With the second alone, it would be lost after a kill
// that comes before it.

// try records that an effect is about to be done.
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
	// Otherwise the effect is done twice if the agent is killed now.
	if err := a.ledger.Effects.Save(ctx, a.host.Files); err != nil && !a.Unwritten {
		return err
	}
	return nil
}

// AckDone removes the pending effects that a killed run had already done. An effect that it had
// only recorded as an attempt is done again.
func AckDone(ctx context.Context, v host.View, led *ledger.Ledger) error {
	for effect, mark := range led.Effects.Attempted() {
		done, err := tasks.EffectOf(graph.Key(effect)).DoneSince(ctx, v, mark)
		switch {
		case errors.Is(err, host.ErrNoLiveState): // an image: the host that boots it will see
		case err != nil:
			return fmt.Errorf("check whether %s was done: %w", effect, err)
		case done:
			led.Effects.Ack(effect)
		}
	}
	return nil
}

// Enqueue records the effects that planned changes will ask for, before the first change is made.
// If they cannot be saved, none is recorded.
func Enqueue(ctx context.Context, h *host.Host, led *ledger.Ledger, planned *changes.Set) error {
	before := led.Effects.List()
	enqueue(led, planned)
	err := led.Effects.Save(ctx, h.Files)
	if err != nil {
		cancelUntried(led, planned, changes.NewSet(), before)
	}
	return err
}
