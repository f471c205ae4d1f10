package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Rollback applies a revision and pins the node to it until [session.Session.Resume]. Number 0 is
// the revision before the current one. The pin is saved last: a pass that is aborted or killed does
// not pin the node, and what it did not do is not done later. Tasks that fail do not abort the
// pass. On a paused node it returns a [session.PausedError], unless [Pass.EndPause] is set.
func (p Pass) Rollback(ctx context.Context, number int) (*report.Plan, error) {
	return p.Session().Locked(ctx, noting(ctx, func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		paused := p.Session().PausedBy(h.Live.Files)
		if paused != nil && !p.EndPause {
			return nil, &session.PausedError{Paused: *paused, Ends: "`agent rollback --end-pause`"}
		}
		rev, err := rollbackTo(led, h.Live.Files, number)
		if err != nil {
			return nil, err
		}
		target, err := desired.FromRevision(rev, h.Live.Files, p.Assets)
		if err == nil {
			err = available(ctx, h, target.Pinned.Recorded)
		}
		if err == nil {
			err = p.mayLeave(ctx, target, h, led)
		}
		if err != nil {
			return nil, fmt.Errorf("roll back to revision %d: nothing was changed: %w", rev.Number, err)
		}
		// otherwise the pin stays, with its time and author
		if was := led.Head().Pin; was == nil || was.Revision != rev.Number {
			led.SetPin(&ledger.Pin{Revision: rev.Number, By: p.By, Since: time.Now().UTC().Truncate(time.Second),
				Disruptive: p.AllowDisruptive})
		}
		plan, _, err := p.converge(ctx, nil, h, led)
		if aborted(err) {
			return plan, err
		}
		if err = errors.Join(err, led.SavePin(ctx, h.Files)); !aborted(err) {
			action := ledger.OperatorAction{Act: ledger.RolledBack, Revision: rev.Number, Generation: rev.Generation}
			if paused != nil { // last, because until it is pinned the node must not take what the store has
				action.Text, err = "the node was "+paused.String(), errors.Join(err, ledger.DropPause(h.Files))
			}
			p.Session().Note(ctx, h, action)
		}
		return plan, err
	}))
}

// aborted reports whether a pass was not made, or not to its end: more went wrong than single
// tasks. The request then has no effect that lasts.
func aborted(err error) bool {
	var refused *checkpoint.RefusedError
	return changes.BesidesTasks(err) != nil || errors.As(err, &refused) || errors.Is(err, context.Canceled)
}

// mayLeave refuses a revision with another network than the node has if the switch is disruptive
// and nobody allowed it. Otherwise the pin would hold the node at a revision that it does not
// reach.
func (p Pass) mayLeave(ctx context.Context, target *desired.State, h *host.Host, led *ledger.Ledger) error {
	g, _, err := target.Graph(h.Live.Facts, model.Discovered{}, p.Assets)
	if err != nil {
		return err
	}
	s, err := migrate.Leave(ctx, target, g, h.Live.View(), led, p.circumstances(target, h.Live.Files, led))
	if s != nil && err == nil && !s.Waits {
		err = s.Blocked
	}
	return err
}

// available checks that each archive that is no longer installed can still be fetched or read.
func available(ctx context.Context, h *host.Host, list []tasks.Task) error {
	var errs []error
	for _, t := range list {
		if a, ok := t.(tasks.Archive); ok {
			errs = append(errs, a.Available(ctx, h))
		}
	}
	return errors.Join(errs...)
}

// rollbackTo returns the revision to roll back to.
func rollbackTo(led *ledger.Ledger, r ledger.Reader, number int) (*ledger.Revision, error) {
	if number != 0 {
		return ledger.ReadRevision(r, number)
	}
	head := led.Head()
	switch {
	case head.Pin != nil: // one further back; a rotated secret may have given the node a new number
		head.Current = min(head.Current, head.Pin.Revision)
	case head.Former != 0 && head.Former != head.Current:
		if rev, err := ledger.ReadRevision(r, head.Former); err == nil {
			return rev, nil
		}
	}
	kept, err := ledger.Revisions(r)
	for _, rev := range slices.Backward(kept) {
		if rev.Number < head.Current {
			return &rev, nil
		}
	}
	return nil, errors.Join(errors.New("there is no revision before the current one: `agent history` lists those that "+
		"are kept"), err)
}
