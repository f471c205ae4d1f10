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
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
)

// serve runs what a command asks for, between two passes. Work that has begun goes on to its end,
// also when the client has gone. A command that wants the newest documents first has a look made;
// serve is called again with the result of the look.
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

// serveNow runs a command that needs no newer documents. The pass that follows publishes what it
// did.
func (l *loop) serveNow(ctx context.Context, w trigger) {
	pass, clock := l.observed(ctx, l.Pass, w)
	if w.job.Command == control.Rollback && l.fetch != nil {
		pass.Assets = l.fetch.Inner // a rollback fetches everything before it changes anything
	}
	var out outcome
	out.said, out.plan, out.err = pass.Do(ctx, w.job.Request)
	if out.err == nil && out.said != "" {
		l.next = time.Now()
	}
	l.finish(ctx, w, out, clock)
}

// follows reports whether the client and the daemon mean the same store and node. If not, it
// answers the client with an error.
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

// passOf returns the daemon's pass with the options of a command; with a nil job, the pass itself.
func passOf(pass reconcile.Pass, job *control.Job) reconcile.Pass {
	if job == nil {
		return pass
	}
	// the documents decide what is changed, and the person decides only when
	pass.By, pass.TakeNow = "", cmp.Or(job.By, "somebody")
	pass.ForceRepair = true
	if job.Command == control.OnceConfirmed {
		pass.ConfirmWithin = job.For
	}
	pass.Host.Verify = pass.Host.Verify || job.Verify
	return pass
}

// readied returns the pass for a look, and changes how the store is read as the command wants it.
// [loop.restore] takes that back. Callers may call it only while no look is under way.
func (l *loop) readied(job *control.Job) reconcile.Pass {
	pass := passOf(l.Pass, job)
	if job == nil {
		return pass
	}
	if pass.Host.Verify && !l.Pass.Host.Verify { // read host and store again, without their caches
		remember(&pass, l.Store)
	}
	if job.AcceptOlder && pass.Trust != nil { // Store asks this policy, too
		pass.Trust.Older = true
	}
	return pass
}

// restore takes back what readied changed in the reading of the store, after a look has ended.
// Where a pass follows that verifies everything, serveOnce calls believe after that pass: only then
// the cached stamps are those of the disk.
func (l *loop) restore(now *looking) {
	if now.job != nil && now.job.AcceptOlder && now.pass.Trust != nil {
		now.pass.Trust.Older = false
	}
	if now.lost || now.old {
		believe(&l.Pass, l.Store, now.pass)
	}
}

// believe lets the store use the cache again after a pass that verified everything.
func believe(of *reconcile.Pass, store statestore.Store, after reconcile.Pass) {
	if after.Host.Verify && !of.Host.Verify {
		remember(of, store)
	}
}

// serveOnce makes a pass with the newest documents. Where the pass needs an asset that is still
// being fetched, the command waits in queued and serveOnce is called again (held is true).
func (l *loop) serveOnce(ctx context.Context, w trigger) (held bool) {
	job := w.job
	if !w.got.lost {
		defer believe(&l.Pass, l.Store, w.got.pass)
	}
	defer func() {
		if !held && len(l.queued) > 0 { // these commands waited for the same assets
			l.fetch.Notify()
		}
	}()
	if job.Gone() {
		l.next = time.Now() // the daemon's next pass makes what this command waited for
		return false
	}
	pass, clock := l.observed(ctx, w.got.pass, w)
	if pass.Agreed = job.Agreed; pass.Agreed != "" && l.fetch != nil {
		pass.Assets = l.fetch.Inner // this pass waits for the assets itself: no second pass follows
	}
	out := l.once(ctx, pass, w.got)
	if out.load != nil && out.plan != nil && out.plan.Pinned != "" {
		job.Send(control.Event{Event: control.Note, Text: desired.GoesOn(out.load)})
		failed := failureOf(outcome{err: out.err})
		l.publish(ctx, w, out, clock)
		job.End(control.Event{Plan: out.plan, Error: failed})
		return false
	}
	if job.Command == control.Once && out.err == nil && out.load == nil && fetching(out.plan) {
		l.publish(ctx, w, out, clock)
		job.Send(control.Event{Event: control.Note,
			Text: "the command waits for a download, and goes on when the download ends"})
		w.got = &looked{err: statestore.ErrNotModified, pass: w.got.pass}
		l.queued = append(l.queued, w)
		return true
	}
	l.finish(ctx, w, out, clock)
	return false
}

// fetching reports whether a step of the plan waits for an asset that is being fetched.
func fetching(p *report.Plan) bool {
	return p != nil && slices.ContainsFunc(p.Steps, func(s report.Step) bool { return s.Fetching })
}

// fetched returns the trigger for an asset that is fetched and that a pass did not wait for.
func (l *loop) fetched(ctx context.Context) (trigger, bool) {
	if len(l.queued) > 0 {
		w := l.queued[0]
		l.queued = l.queued[1:]
		return w, true
	}
	return trigger{cause: "a download ended", cacheOnly: true}, l.knows(ctx)
}

// remember gives the store the cache of a pass. Where that fails the store reads everything:
// slower, with the same result.
func remember(pass *reconcile.Pass, store statestore.Store) {
	if err := pass.Remember(store); err != nil {
		pass.Log.Warn("the store is read in full, without the last answer", zap.Error(err))
	}
}

// finish reports the result of a command to the service manager and to the client.
func (l *loop) finish(ctx context.Context, w trigger, out outcome, clock *phases) {
	if out.plan != nil { // otherwise nothing was done, and the last status still holds
		l.publish(ctx, w, out, clock)
	}
	w.job.End(control.Event{Plan: out.plan, Text: out.said, Error: failureOf(out)})
}

// asked returns the trigger of a client's command.
func asked(job *control.Job) trigger { return trigger{cause: "asked: " + job.String(), job: job} }

// failureOf returns the error of a pass as a client needs it; nil: there is none.
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
