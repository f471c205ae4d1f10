package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// A change is not begun if it cannot be recorded in the ledger first, or if its undo cannot be
// kept, because the disk is full or the journal or the checkpoint cannot be written. A repair needs
// no new record, because the ledger already has its owner and its baseline. It is made even then,
// so that a full disk does not deprive pods and kubelet of what they need.

// write records what the plan is about to change, before the first change. It returns the plan
// without the tasks whose state could not be read.
func (r *plan) write(ctx context.Context, p Pass, h *host.Host) (*plan, error) {
	unknown, err := r.ownership.Intend(ctx, h, r.wanted.Changes, r.unwanted.Changes.Any())
	for key, why := range unknown {
		unknown[key] = graph.Permanent(why)
	}
	r = r.refusing(unknown)
	if err != nil {
		return r, err
	}
	if err := r.trials.Begin(ctx, h, r.wanted, r.ownership.Set, r.made(p)); err != nil {
		return r, err
	}
	return r, execute.Enqueue(ctx, h, r.led, r.wanted.Changes)
}

// refusing returns the plan without the changes of some tasks. why has the reason by each task's
// first key.
func (r *plan) refusing(why map[graph.Key]error) *plan {
	if len(why) == 0 {
		return r
	}
	less := *r
	less.refused = maps.Clone(r.refused)
	maps.Copy(less.refused, why)
	less.wanted.Changes, less.unwanted.Changes = r.wanted.Changes.Without(why), r.unwanted.Changes.Without(why)
	return &less
}

// restoreOnly returns the plan without every change that does not restore a state that the ledger
// says was right.
func (r *plan) restoreOnly(why error) *plan {
	refused := map[graph.Key]error{}
	for _, c := range []*changes.Set{r.wanted.Changes, r.unwanted.Changes} {
		for key, change := range c.ByKey {
			_, recorded := r.ownership.Set.Of(key)
			unnoted := tasks.IsState(key) && !recorded && change.Proof != tasks.ProofNone
			if change.NotApplicable == "" && change.Proof != tasks.ProofBefore && !unnoted {
				refused[key] = graph.Permanent(fmt.Errorf("the change is not begun: %w", why))
			}
		}
	}
	less := *r.refusing(refused)
	less.unwritten = &UnwrittenError{why}
	return &less
}

// UnwrittenError is the error of a pass that made only repairs. Its other changes could not be
// recorded, or no undo of them could be kept.
type UnwrittenError struct{ Err error }

func (e *UnwrittenError) Error() string {
	return fmt.Sprintf("the agent only restores what was right before: %v", e.Err)
}

func (e *UnwrittenError) Unwrap() error { return e.Err }

// writable checks whether the ledger can be written again. A pass that changes nothing writes
// nothing, and would otherwise report that all is well.
func (r *plan) writable(ctx context.Context, p Pass, h *host.Host) error {
	if !p.WasUnwritten {
		return nil
	}
	if err := r.led.Commit(ctx, h.Files, ledger.Batch{Head: r.led.Head()}); err != nil {
		return &UnwrittenError{err}
	}
	return nil
}

// mayNotGoOn reports whether a pass whose changes could not be recorded must end without any
// change. It must if it was cancelled, if it is to be confirmed as a whole, or if another change
// awaits its confirmation.
func mayNotGoOn(ctx context.Context, confirm time.Duration, err error) bool {
	var awaits *session.AwaitsError
	return ctx.Err() != nil || confirm > 0 || errors.As(err, &awaits)
}

// instead keeps the node's present network if the switch of networks cannot be begun.
func (p Pass) instead(ctx context.Context, h *host.Host, r *plan, why error) (*report.Plan, *outcome, error) {
	r.sw.Blocked = why
	kept, err := planner{p, h.Live.View(), r.led}.retainNetwork(ctx, r.target)
	if err != nil {
		return nil, nil, errors.Join(why, err)
	}
	return p.carryOut(ctx, h, kept)
}
