package daemon

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/discover"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
)

// Run makes passes until ctx ends, and then returns nil: to be stopped is no error. It says READY=1
// once, when everything that kubelet needs is right. It serves the commands of clients between two
// passes, in the same loop.
func (d Daemon) Run(ctx context.Context) error {
	d.Pass.Host.Runtime = cri.NewStatusCache()
	l := newLoop(d)
	watched, stop := context.WithCancelCause(ctx)
	petted := make(chan error, 1)
	go func() { petted <- d.Manager.Watchdog(watched, l.turn.alive) }()
	defer func() {
		stop(errors.New("the daemon stops"))
		if err := <-petted; err != nil {
			d.Pass.Log.Warn("systemd's watchdog is not notified", zap.Error(err))
		}
	}()

	defer l.drift.close()
	l.edited = edits(watched, d.Store)
	if d.Pass.Assets != nil {
		l.fetch = fetch.New(ctx, fetch.Observed{Fetcher: d.Pass.Assets, OnProgress: l.progress.fetching}, d.Pass.Host,
			d.Store.String(), func() bool { return !l.notify.ready.Load() })
		l.Pass.Assets = l.fetch
	}
	defer func() { l.fetch.Close() }()
	ended := make(chan struct{})
	patient := make(chan struct{})
	go func() { defer close(patient); l.notify.extendTimeout(ctx, ended, l.turn.alive) }()
	defer func() { close(ended); <-patient }()

	session.RecoverFirst(ctx, d.Pass.Log, d.Pass.Session().Recover)
	l.status.begin(d, l.turn.daemon)
	l.at("the first boot with changed files", func() {
		if err := d.Pass.Session().FirstBoot(ctx); err != nil && ctx.Err() == nil {
			d.Pass.Log.Error("the changes that awaited this boot are not judged: the next pass begins with "+
				"them", zap.Error(err))
		}
	})
	for ctx.Err() == nil && !l.over {
		if w := l.wait(ctx); w.job != nil {
			l.serve(ctx, w)
		} else if ctx.Err() == nil {
			l.round(ctx, w)
		}
		l.heap.used()
	}
	l.looks.end(l.queued)
	return d.Manager.Stopping()
}

// round makes a pass that the daemon itself asked for.
func (l *loop) round(ctx context.Context, w trigger) {
	pass := l.Pass
	pass.CacheOnly, pass.Ready, pass.OfDaemon = w.cacheOnly, l.notify.ready.Load(), true
	pass.Questions = l.questions
	pass, clock := l.observed(ctx, pass, w)
	spend := func() {}
	if w.event {
		spend = l.drift.budget.begin()
	}
	var out outcome
	began := time.Now()
	l.at("a pass of its own", func() { out = l.once(ctx, pass, w.got) })
	switch {
	case out.err != nil || out.load != nil || out.plan == nil:
		l.whole = time.Time{}
	case out.plan.Summary.Changes() > 0: // they are watched only since the pass
		l.whole = time.Time{}
	case pass.Host.Facts == nil:
		l.whole = began
	}
	spend()
	l.publish(ctx, w, out, clock)
}

// wait waits until the next pass or command, and begins looks meanwhile.
func (l *loop) wait(ctx context.Context) trigger {
	for {
		if w, ok := l.beginLook(ctx); ok {
			return w
		}
		if w, ok := l.await(ctx); ok || ctx.Err() != nil {
			return w
		}
	}
}

// await waits until a pass or a command is to be served; ok is false where the caller is to begin a
// look instead.
func (l *loop) await(ctx context.Context) (w trigger, ok bool) {
	watched, stop := context.WithCancelCause(ctx)
	defer stop(errors.New("the daemon works"))
	changed := l.watch(watched)
	for {
		select {
		case <-ctx.Done():
			return trigger{cause: "the end"}, true
		case <-time.After(time.Until(l.next)):
			return l.scheduled(ctx)
		case got := <-l.looks.result():
			return l.lookEnded(got)
		case <-l.looks.late():
			return l.looks.giveUp(), true
		case <-l.Pass.Host.Runtime.Changed():
			l.drift.facts = nil
			return trigger{cause: "the container runtime's answer changed", cacheOnly: true}, l.knows(ctx)
		case <-time.After(until(l.heap.next)):
			l.heap.trim()
		case <-time.After(l.services.untilNext()):
			l.services.begin(ctx, l.Pass.Host, l.notify.ready.Load())
		case got := <-l.services.result():
			if l.seen(got) {
				l.drift.facts = nil
				return trigger{cause: "the container runtime was started again", cacheOnly: true}, l.knows(ctx)
			}
		case <-l.questions.Ended():
			return trigger{cause: "the Kubernetes API answered about a certificate", cacheOnly: true}, l.knows(ctx)
		case <-l.fetch.Ended():
			return l.fetched(ctx)
		case what := <-changed:
			l.looks.seek(want{cause: what + " changed"})
			return trigger{}, false
		case job := <-l.Control.Jobs():
			return asked(job), true
		case <-l.edited:
			l.looks.seek(want{cause: "the store changed"})
			return trigger{}, false
		case <-l.Reload:
			l.looks.seek(want{cause: "a reload was requested", asked: true})
			return trigger{}, false
		case <-l.drift.events():
			l.repair(ctx)
		case <-time.After(until(l.drift.passAt)):
			return l.drift.take(), true
		case <-time.After(l.drift.untilPoll()):
			if l.drift.look(ctx) {
				return l.drift.take(), true
			}
		}
	}
}

// repair repairs only the keys that the events name, where nothing else happened. Otherwise it asks
// for a pass soon.
func (l *loop) repair(ctx context.Context) {
	w, quiet := l.drift, time.Now().Add(repairDelay)
	owners, direct, pass := w.takeEvents()
	rest := func() ([]tasks.Task, error) {
		if left := time.Until(quiet); left > 0 {
			host.Pause(left)
		}
		more, alone, facts := w.takeEvents()
		pass = pass || facts
		if !alone {
			return nil, errors.New("another event arrived that a repair does not handle")
		}
		return more, nil
	}
	if direct && len(owners) > 0 {
		var steps []report.Step
		var err error
		spend := w.budget.begin()
		by := l.Pass
		by.CacheOnly, by.Ready, by.OfDaemon = true, l.notify.ready.Load(), true
		l.at("a repair of its own", func() { steps, err = w.converged.Repair(ctx, by, owners, rest) })
		spend()
		if len(steps) > 0 {
			w.repairedSome(steps)
		}
		if err != nil {
			l.Pass.Log.Debug("not repaired by itself", zap.Error(err))
			var unwritten *reconcile.UnwrittenError
			l.unwritten = l.unwritten || errors.As(err, &unwritten)
			w.converged, direct = nil, false
		}
	}
	if !direct || pass {
		w.ask()
	}
}

// at runs do and marks meanwhile that the daemon works: for the watchdog, for waiting clients and
// for the status.
func (l *loop) at(what string, do func()) {
	defer l.Control.Working(what)()
	l.progress.enter("")
	where := func() string { return strings.TrimSuffix(what+": "+l.progress.pass(), ": ") }
	defer l.progress.begin(where)()
	defer l.status.hangs(where, l.notify.hangs)()
	l.turn.begin()
	defer l.turn.end()
	do()
}

// publish reports the result of a pass, and decides when the next one is due.
func (l *loop) publish(ctx context.Context, w trigger, out outcome, clock *phases) {
	if ctx.Err() != nil {
		return
	}
	defer func() {
		out.plan = l.drift.withRepairs(out.plan)
		l.status.ended(w, out, clock, passResult{desired: l.desired, ready: l.notify.ready.Load(), next: l.next,
			wakes: maps.Clone(l.drift.wakes), away: l.away, pinned: l.pinned})
	}()
	l.drift.ended(out.plan)
	switch {
	case w.cacheOnly && out.err == nil: // the errors of the store stay: it was not asked
	case w.cacheOnly:
		l.failures++
	default:
		l.unread, l.away = out.load, out.load != nil && graph.IsTransient(out.load)
		if l.failures++; out.load == nil && out.err == nil {
			l.failures = 0
		}
	}
	said := out
	said.load = l.unread // a pass that did not ask the store keeps the last error
	l.notify.passEnded(said.status(l.desired), out.plan)
	failures := l.failures
	if w.cacheOnly && out.err == nil && !l.looks.idle() { // the store failed alone, and is asked already
		failures = 0
	}
	next := time.Now().Add(Delay(l.Interval, failures))
	if w.cacheOnly && l.looks.idle() { // the store is asked when it was to be asked
		next = report.Sooner(next, l.next)
	}
	l.awaited = nextMoment(l.Pass, l.desired, out.plan)
	l.next = nextLook(next, l.awaited)
}

// once makes one pass, with the documents that a look found if got is not nil. Where the store
// cannot be reached, or its documents are unusable, the pass repairs what the last usable documents
// want.
func (l *loop) once(ctx context.Context, pass reconcile.Pass, got *looked) (out outcome) {
	before := l.desired
	if got != nil {
		out.load = l.unlessPinned(l.take(ctx, pass, got))
		if ctx.Err() != nil {
			return out
		}
		l.health.store(out.load, l.desired)
	}
	if l.desired == nil && !pass.Session().Pinned() {
		return out
	}
	if pass.Answers = l.looks.answers; pass.Answers == nil {
		pass.Answers = &discover.Answers{} // no look has ended yet, and the pass itself asks nobody
	}
	defer l.notify.reloading(l.desired)(&out)
	if before.HasManyFiles() || l.desired.HasManyFiles() {
		defer limitHeap()()
	}
	pass.WasUnwritten = l.unwritten
	out.plan, out.err = pass.Converge(ctx, l.desired)
	var unwritten *reconcile.UnwrittenError
	l.unwritten = errors.As(out.err, &unwritten)
	l.contested.update(out.plan, time.Now())
	if ctx.Err() == nil {
		l.health.pass(out.err)
		l.health.plan(out.plan)
	}
	return out
}

// take takes the documents that a look found. The error says why there are none newer than those
// that the loop has.
func (l *loop) take(ctx context.Context, pass reconcile.Pass, got *looked) error {
	switch {
	case got.err == nil:
		logTaken(l.Pass.Log, l.desired, l.status.now.Configuration.Applied, got.desired)
		l.desired = got.desired
		return nil
	case errors.Is(got.err, statestore.ErrNotModified):
		return nil
	case l.desired != nil:
		l.desired.Because(got.err)
		return got.err
	}
	good, worse := pass.Rollout().LastGood(ctx, l.Store, l.Select, got.err)
	if good == nil {
		return worse
	}
	l.desired = good
	return got.err
}

// logTaken logs that the store has other documents, and who published them. It logs nothing where
// the loop had them, or where the node applied them before the daemon began.
func logTaken(log *zap.Logger, was *desired.State, made *report.Generation, d *desired.State) {
	s := d.Snapshot
	known := was != nil && was.Snapshot.Digest == s.Digest
	if known || was == nil && made != nil && made.Digest == s.Digest {
		return
	}
	fields := []zap.Field{zap.Int64("generation", s.Generation), zap.String("digest", s.Digest),
		zap.String("store", s.Origin)}
	if !s.Published.IsZero() {
		fields = append(fields, zap.Time("published", s.Published), zap.String("publisher", s.Note.Publisher),
			zap.String("commit", s.Note.Commit), zap.String("message", s.Note.Message))
	}
	log.Info("the store has another configuration", fields...)
}
