package reconcile

import (
	"context"
	"errors"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
)

// DryRun returns what a pass would change. It opens the host for reading only. The error names the
// tasks that could not be planned. The plan is returned together with it.
func (p Pass) DryRun(ctx context.Context, d *desired.State) (*report.Plan, error) {
	led, view, err := p.Session().Look(ctx)
	if err != nil {
		return nil, err
	}
	defer view.Close() // it was opened for reading only
	undo, err := p.Session().PendingUndo(view.Files)
	if err != nil {
		return nil, err
	}
	r, err := p.show(ctx, d, view.View(), led)
	if err != nil {
		return nil, err
	}
	out := r.report()
	history.Recall(out, view.Files, led)
	r.annotate(p, out, view.View())
	p.Rollout().Preview(ctx, out, d, view.Files, led, r.planned)
	out.Notes = append(out.Notes, undo...)
	for _, off := range service.Off(p.Host) {
		out.Off = append(out.Off, off)
		out.Warn("the agent is switched off: " + off)
	}
	if out.Paused = p.Session().PausedBy(view.Files); out.Paused != nil {
		out.Warn("nothing of this is done now: the node is " + out.Paused.String() + "; `agent resume` ends that")
	}
	unwritable := ledger.InTheWay(view.View())
	if unwritable != nil {
		out.Notes = append(out.Notes, report.Note{Level: "error", Text: unwritable.Error()})
	}
	return out, errors.Join(changes.Failure(r.wanted.Rep), r.unbuilt, unwritable)
}

// Converge makes one pass. It writes nothing if all is right. The plan says what was done, what
// waits and what failed. d may be nil if the node is held at a revision.
func (p Pass) Converge(ctx context.Context, d *desired.State) (*report.Plan, error) {
	plan, err := p.convergeLocked(ctx, d)
	if awaits, ok := errors.AsType[*session.AwaitsError](err); ok && p.TakeNow == "" {
		return p.lookMeanwhile(ctx, d, &awaits.Awaits)
	}
	return plan, err
}

func (p Pass) convergeLocked(ctx context.Context, d *desired.State) (*report.Plan, error) {
	in, made := p.Session(), (*outcome)(nil)
	in.OnEnd = func(h *host.Host, _ *ledger.Ledger) {
		if made == nil || p.OnConverged == nil {
			return
		}
		if s := made.converged(h, p.Before); s != nil {
			p.OnConverged(s)
		}
	}
	return in.Locked(ctx, noting(ctx, func(h *host.Host, led *ledger.Ledger) (plan *report.Plan, err error) {
		if z := in.PausedBy(h.Live.Files); z != nil && p.TakeNow != "" {
			return nil, &session.PausedError{Paused: *z, Ends: "`agent resume`"}
		} else if z != nil {
			return p.lookOnly(ctx, d, h, led, z)
		}
		if err := p.checkSavedPlan(ctx, d, h, led); err != nil {
			return nil, err
		}
		pauses := ledger.DropPause(h.Files) // the pause is over, even if its file cannot be removed
		plan, made, err = p.takeAndConverge(ctx, d, h, led)
		return plan, errors.Join(err, pauses)
	}))
}

// takeAndConverge makes the host match what the rollout takes: newest, or the configuration that
// the node is held at. Where all of newest was taken, no update waits any longer.
func (p Pass) takeAndConverge(ctx context.Context, newest *desired.State, h *host.Host, led *ledger.Ledger) (*report.Plan, *outcome, error) {
	waited, _ := ledger.ReadUpdate(h.Live.Files) // Take reports a damaged file
	d, err := p.Rollout().Take(ctx, newest, h, led, func() *rollout.Planned { return p.planned(ctx, newest, h, led) })
	if err != nil {
		return nil, nil, err
	}
	var plan *report.Plan
	var made *outcome
	if err = p.issue(ctx, d, h); err == nil {
		if newest != nil {
			newest.LookAgain = d.LookAgain
		}
		before := led.Head().Current
		next, _ := led.NextRevision(h.Live.Files) // an error to list them is reported when a revision is made
		plan, made, err = p.converge(ctx, d, h, led)
		noteForward(ctx, p.Session(), h, led, before, next, plan)
	}
	if d != nil && d.Undone != nil {
		err = errors.Join(err, d.Undone)
	}
	if p.TakeNow != "" && aborted(err) {
		err = errors.Join(err, rollout.WaitAgain(context.WithoutCancel(ctx), h, waited))
	}
	if tookNewest(d, plan, err) {
		err = errors.Join(err, p.Rollout().EndUpdate(ctx, d, h, led))
	}
	return plan, made, err
}

// tookNewest reports whether a pass worked towards d as the store has it, and all of d is in force.
// It did not if it worked towards another configuration, or towards the recorded one, or if it took
// the configuration back.
func tookNewest(d *desired.State, plan *report.Plan, err error) bool {
	return plan != nil && d != nil && plan.Awaits == nil && d.Waiting == nil && d.Taken.IsZero() &&
		plan.Digest == d.Snapshot.Digest && changes.BesidesTasks(err) == nil
}

// planned returns what d would change, or nil if d cannot be planned.
func (p Pass) planned(ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger) *rollout.Planned {
	r, err := p.show(ctx, d, h.Live.View(), led)
	if err != nil {
		return nil
	}
	return r.planned()
}

// planned returns what the documents would change, or nil if the plan does not follow the
// documents.
func (r *plan) planned() *rollout.Planned {
	if r.unbuilt != nil || r.sw != nil && r.sw.Blocked != nil {
		return nil
	}
	return &rollout.Planned{Plan: r.report(), Fingerprint: r.ownership.Set.Fingerprint}
}

// issue requests the certificates of d that are due.
func (p Pass) issue(ctx context.Context, d *desired.State, h *host.Host) (err error) {
	if d == nil {
		return nil
	}
	asked := p.Certificates
	if asked == nil {
		asked = func() (issue.CertificateAPI, error) { return issue.As(p.API, h.Live.Facts) }
	}
	issuer := issue.Issuer{Log: p.Log, May: mayIssue(p), Kubernetes: asked, Questions: p.Questions}
	d.Issued, d.LookAgain, err = issuer.Issue(ctx, d.Node, d.Keypairs, h)
	return err
}
