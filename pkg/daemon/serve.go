package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
)

// serve does what a command asks for, as a turn of the daemon's own loop. What is begun is brought
// to its end, whether or not somebody still listens. A command that wants the newest documents has
// a look made first, and its turn comes again when that has ended.
func (l *loop) serve(ctx context.Context, w trigger) {
	job := w.job
	once := job.Command == control.Once || job.Command == control.OnceConfirmed
	if w.got == nil {
		l.Pass.Log.Info("asked", zap.Stringer("for", job))
		job.Send(control.Event{Event: control.Begin})
		if once && follows(l.Target, job) {
			l.looks.seek(want{cause: w.cause, job: job})
		}
		if once {
			l.fetch.Retry()
			return
		}
	}
	held := false
	defer func() {
		if !held {
			job.End(control.Event{Error: &control.Failure{Text: "the daemon did not say how it ended: see `journalctl " +
				"-u netwright-agent`"}})
		}
	}()
	l.at(job.String(), func() {
		switch job.Command {
		case control.Once, control.OnceConfirmed:
			held = l.serveOnce(ctx, w)
		case control.Confirm, control.Resume, control.Pause, control.Rollback:
			l.serveNow(ctx, w)
		case control.Stop:
			l.over = true
			job.End(control.Event{})
		default:
			why := fmt.Sprintf("the daemon knows no command %q: restart it, so that it is of the same version "+
				"(systemctl restart netwright-agent)", job.Command)
			job.End(control.Event{Error: &control.Failure{Text: why, Besides: why}})
		}
	})
}

// serveNow does what needs no newer documents. The pass after it tells everybody what it did.
func (l *loop) serveNow(ctx context.Context, w trigger) {
	pass, clock := l.observed(ctx, l.Pass, w)
	if w.job.Command == control.Rollback && l.fetch != nil {
		pass.Assets = l.fetch.Inner // it proves that all can be had before it changes anything
	}
	var out outcome
	out.said, out.plan, out.err = pass.Do(ctx, w.job.Request)
	if out.err == nil && out.said != "" {
		l.next = time.Now()
	}
	l.finish(ctx, w, out, clock)
}

// follows says that the client means the documents that the daemon follows, and else tells it.
func follows(target control.Target, job *control.Job) bool {
	what, own, others := target.Differs(job.Target)
	if what == "" {
		return true
	}
	want{job: job}.refuse(fmt.Errorf("the daemon was started for the %s %q, and this command names %q: restart the "+
		"daemon if its file changed (systemctl restart "+
		"netwright-agent), or stop it first (systemctl stop netwright-agent)", what, own, others))
	return false
}

// passOf makes of the daemon's own pass the one that a command asks for; nil: it is that.
func passOf(pass reconcile.Pass, job *control.Job) reconcile.Pass {
	if job == nil {
		return pass
	}
	// the documents decide what is done, and the person only when
	pass.By, pass.TakeNow = "", cmp.Or(job.By, "somebody")
	pass.ForceRepair = true
	if job.Command == control.OnceConfirmed {
		pass.ConfirmWithin = job.For
	}
	pass.Host.Verify = pass.Host.Verify || job.Verify
	return pass
}

// readied is that pass, and has the store read as the command wants it, until [loop.restore]: while
// no look is under way, and only then, may this change.
func (l *loop) readied(job *control.Job) reconcile.Pass {
	pass := passOf(l.Pass, job)
	if job == nil {
		return pass
	}
	if pass.Host.Verify && !l.Pass.Host.Verify { // neither the host's files nor the store's are believed, for this once
		remember(&pass, l.Store)
	}
	if job.AcceptOlder && pass.Trust != nil { // the store asks this same policy
		pass.Trust.Older = true
	}
	return pass
}

// restore has the store read as before a look, which has ended. What a pass believes again that was
// verified for once, it does when that has ended, too: its stamps are those of the disk.
func (l *loop) restore(now *looking) {
	if now.job != nil && now.job.AcceptOlder && now.pass.Trust != nil {
		now.pass.Trust.Older = false
	}
	if now.lost || now.old {
		believe(&l.Pass, l.Store, now.pass)
	}
}

// believe takes back that everything was verified.
func believe(of *reconcile.Pass, store statestore.Store, after reconcile.Pass) {
	if after.Host.Verify && !of.Host.Verify {
		remember(of, store)
	}
}

// serveOnce makes a pass with the newest documents. What it needs and is still being fetched is
// waited for: then its turn comes again.
func (l *loop) serveOnce(ctx context.Context, w trigger) (held bool) {
	job := w.job
	if !w.got.lost {
		defer believe(&l.Pass, l.Store, w.got.pass)
	}
	defer func() {
		if !held && len(l.queued) > 0 { // they waited for the same
			l.fetch.Notify()
		}
	}()
	if job.Gone() {
		l.next = time.Now() // what waited for it is the daemon's own now
		return false
	}
	pass, clock := l.observed(ctx, w.got.pass, w)
	if pass.Agreed = job.Agreed; pass.Agreed != "" && l.fetch != nil {
		pass.Assets = l.fetch.Inner // it waits for what it needs: no second pass follows
	}
	out := l.once(ctx, pass, w.got)
	if out.load != nil && out.plan != nil && out.plan.Pinned != "" {
		job.Send(control.Event{Event: control.Note,
			Text: fmt.Sprintf("%v; going on, for the node is held at a revision", out.load)})
		failed := failureOf(outcome{err: out.err})
		l.publish(ctx, w, out, clock)
		job.End(control.Event{Plan: out.plan, Error: failed})
		return false
	}
	if job.Command == control.Once && out.err == nil && out.load == nil && fetching(out.plan) {
		l.publish(ctx, w, out, clock)
		job.Send(control.Event{Event: control.Note,
			Text: "what it needs is being fetched: it goes on when that is there"})
		w.got = &looked{err: statestore.ErrNotModified, pass: w.got.pass}
		l.queued = append(l.queued, w)
		return true
	}
	l.finish(ctx, w, out, clock)
	return false
}

// fetching says that a plan waits for something that is being fetched.
func fetching(p *report.Plan) bool {
	return p != nil && slices.ContainsFunc(p.Steps, func(s report.Step) bool { return s.Fetching })
}

// fetched is what to do when something is there that a pass did not wait for.
func (l *loop) fetched(ctx context.Context) (trigger, bool) {
	if len(l.queued) > 0 {
		w := l.queued[0]
		l.queued = l.queued[1:]
		return w, true
	}
	return trigger{cause: "something was fetched", cacheOnly: true}, l.knows(ctx)
}

// remember gives the store the memory of a pass. Without it the store is read as a whole: slower,
// and as right.
func remember(pass *reconcile.Pass, store statestore.Store) {
	if err := pass.Remember(store); err != nil {
		pass.Log.Warn("the store is read without memory", zap.Error(err))
	}
}

// finish tells service manager and client how it ended what a command asked for.
func (l *loop) finish(ctx context.Context, w trigger, out outcome, clock *phases) {
	if out.plan != nil { // else nothing was done, and what was told before still holds
		l.publish(ctx, w, out, clock)
	}
	w.job.End(control.Event{Plan: out.plan, Text: out.said, Error: failureOf(out)})
}

// asked is the trigger of a job.
func asked(job *control.Job) trigger { return trigger{cause: "asked: " + job.String(), job: job} }

// failureOf is a pass's error as a client needs it: nil where all went well.
func failureOf(out outcome) *control.Failure {
	switch {
	case out.load != nil:
		return control.Failed(out.load, out.load)
	case out.err == nil:
		return nil
	}
	f := control.Failed(out.err, changes.BesidesTasks(out.err))
	f.Again = execute.OnlyChangedSincePlanned(out.err)
	return f
}
