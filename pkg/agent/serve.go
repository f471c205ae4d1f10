package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
)

// serve does what a command asks for, as a turn of the daemon's own loop. What is begun is brought to its end, whether or not somebody still
// listens.
func (l *life) serve(ctx context.Context, job *control.Job) {
	l.Pass.Log.Info("asked", zap.Stringer("for", job))
	defer job.End(control.Event{Error: &control.Failure{Text: "the daemon did not say how it ended: see `journalctl -u netwright-agent`"}})
	job.Send(control.Event{Event: control.Begin})
	l.at(job.String(), func() {
		switch job.Command {
		case control.Once:
			l.serveOnce(ctx, job)
		case control.OnceConfirmed:
			l.serveOnce(ctx, job)
		case control.Confirm:
			pass, _ := l.passFor(ctx, job)
			kept, err := pass.Confirm(ctx)
			if err == nil {
				l.next = time.Now() // the next pass tells everybody
			}
			job.End(control.Event{Text: kept, Error: failureOf(outcome{err: err})})
		case control.Rollback:
			pass, clock := l.passFor(ctx, job)
			var out outcome
			out.plan, out.err = pass.Rollback(ctx, job.Revision)
			l.finish(ctx, job, out, clock)
		case control.Resume:
			pass, _ := l.passFor(ctx, job)
			was, err := pass.Resume(ctx)
			if err == nil && was != "" {
				l.next = time.Now() // it follows the store from now on
			}
			job.End(control.Event{Text: was, Error: failureOf(outcome{err: err})})
		case control.Pause:
			pass, _ := l.passFor(ctx, job)
			z, err := pass.Pause(ctx, job.For, job.Reason)
			end := control.Event{Error: failureOf(outcome{err: err})}
			if err == nil {
				end.Text = z.String()
				l.next = time.Now() // the next pass tells everybody
			}
			job.End(end)
		case control.Stop:
			l.over = true
			job.End(control.Event{})
		default:
			why := fmt.Sprintf("the daemon knows no command %q: restart it, so that it is of the same version (systemctl restart netwright-agent)", job.Command)
			job.End(control.Event{Error: &control.Failure{Text: why, Besides: why}})
		}
	})
}

// serveOnce makes a pass with the newest documents, if the client means those that the daemon follows.
func (l *life) serveOnce(ctx context.Context, job *control.Job) {
	if what, own, others := l.Target.Differs(job.Target); what != "" {
		why := fmt.Sprintf("the daemon was started for the %s %q, and this command names %q: restart the daemon if its file changed (systemctl restart "+
			"netwright-agent), or stop it first (systemctl stop netwright-agent)", what, own, others)
		job.End(control.Event{Error: &control.Failure{Text: why, Besides: why}})
		return
	}
	pass, clock := l.passFor(ctx, job)
	pass.By, pass.TakeNow = "", cmp.Or(job.By, "somebody") // the documents decide what is done, and the person only when
	pass.Afresh = true
	if job.Command == control.OnceConfirmed {
		pass.ConfirmWithin = job.For
	}
	if job.Verify && !pass.Host.Verify { // neither the host's files nor the store's are believed, for this once
		pass.Host.Verify = true
		defer l.remember(&l.Pass)
		l.remember(&pass)
	}
	if job.AcceptOlder && pass.Trust != nil { // the store asks this same policy, in this same loop
		pass.Trust.Older = true
		defer func() { pass.Trust.Older = false }()
	}
	out := l.once(ctx, pass)
	if out.load != nil && out.plan != nil && out.plan.Held != "" {
		job.Send(control.Event{Event: control.Note, Text: fmt.Sprintf("%v; going on, for the node is held at a revision", out.load)})
		failed := failureOf(outcome{err: out.err})
		l.tell(ctx, asked(job), out, clock)
		job.End(control.Event{Plan: out.plan, Error: failed})
		return
	}
	l.finish(ctx, job, out, clock)
}

// remember gives the store the memory of a pass. Without it the store is read as a whole: slower, and as right.
func (l *life) remember(pass *Pass) {
	if err := pass.Remember(l.Store); err != nil {
		l.Pass.Log.Warn("the store is read without memory", zap.Error(err))
	}
}

// finish tells service manager and client how a pass ended that a command asked for.
func (l *life) finish(ctx context.Context, job *control.Job, out outcome, clock *phases) {
	if out.plan != nil { // else nothing was done, and what was told before still holds
		l.tell(ctx, asked(job), out, clock)
	}
	job.End(control.Event{Plan: out.plan, Error: failureOf(out)})
}

// asked is the wake of a job.
func asked(job *control.Job) wake { return wake{cause: "asked: " + job.String(), job: job} }

// passFor is the daemon's pass with somebody who hears of it.
func (l *life) passFor(ctx context.Context, job *control.Job) (Pass, *phases) {
	pass := l.Pass
	pass.By = job.By
	pass.AllowDisruptive = pass.AllowDisruptive || job.AllowDisruptive
	pass.Hooks = Hooks{
		OnPlan:  func(p *report.Plan) { job.Send(control.Event{Event: control.Plan, Plan: p}) },
		OnStart: func(k graph.Key) { job.Send(control.Event{Event: control.Start, Key: string(k)}) },
		OnDone:  func(k graph.Key, _ graph.State) { job.Send(control.Event{Event: control.Done, Key: string(k)}) },
		OnRetry: func(k graph.Key, why error, pause time.Duration) {
			job.Send(control.Event{Event: control.Retry, Key: string(k), Text: Cause(why).Error(), Pause: pause})
		},
		OnWait: func(who string) { job.Send(control.Event{Event: control.Queued, Text: who}) },
	}
	return l.observed(ctx, pass, asked(job))
}

// failureOf is a pass's error as a client needs it: nil where all went well.
func failureOf(out outcome) *control.Failure {
	switch {
	case out.load != nil:
		return &control.Failure{Text: out.load.Error(), Besides: out.load.Error()}
	case out.err == nil:
		return nil
	}
	f := &control.Failure{Text: out.err.Error(), Again: OnlyChangedSincePlanned(out.err)}
	if besides := BesidesTasks(out.err); besides != nil {
		f.Besides = besides.Error()
	}
	return f
}
