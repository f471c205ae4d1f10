package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/statestore"
)

// Manager is the service manager that waits for READY; publish.Systemd is one.
type Manager interface {
	Ready(status string) error
	Status(status string) error
	Stopping() error
	// Reloading says that a changed configuration is taken; Ready ends it.
	Reloading() error
	// Extend asks for so much more time to start or to stop, from now.
	Extend(by time.Duration) error
	Watchdog(ctx context.Context, alive func() bool) error
}

// Daemon converges, and again every interval.
type Daemon struct {
	Pass     Pass
	Store    statestore.Store
	Select   config.Select
	Interval time.Duration // between passes, give or take a tenth
	Manager  Manager
	Control  *control.Server  // where commands come in; nil: nowhere
	Target   control.Target   // where Store and Select come from, as a command's flags name them
	Version  string           // of the agent
	Reload   <-chan os.Signal // look at the store now; nil: nobody asks
	// Watcher hears what happens to the host; nil: drift is found by the passes of every interval.
	// Run closes it.
	Watcher *watch.Watcher
	// Observers are told how the node stands, in this order.
	Observers []Observer
}

// Times of the daemon's life.
const (
	retryFirst = time.Second      // after a failed pass, doubled each time …
	retryMax   = time.Minute      // … up to this, and never above the interval
	trialLook  = 5 * time.Second  // at most, while a unit is not known to run from its new settings, or kubelet makes its Node
	passLimit  = 30 * time.Minute // a pass that takes longer hangs: the watchdog may end it
)

// life is what a daemon knows while it lives.
type life struct {
	Daemon
	desired   *Desired // the last documents that could be used
	health    health
	begun     time.Time
	pass      atomic.Int64 // when the running pass began, in nanoseconds after begun; 0 between passes
	ready     bool
	failures  int
	next      time.Time // when to look again
	unread    error     // why the store could not be read when it was last asked
	away      bool      // that is for want of an answer, and not for what the store has
	unwritten bool      // the last pass could not write down what it was to change
	over      bool      // somebody asked the daemon to end
	pinned    bool      // the store has another configuration than the pin names, and the node has that
	standing  standing
	looks     looks
	services  services
	fetch     *aside          // nil: nothing is fetched
	edited    <-chan struct{} // has something when the files of a store of this machine changed
	held      []wake          // commands that what is being fetched keeps waiting
	drift     *hostWatch
	notify    notifying
	quarrels  quarrels
}

// wake is why the daemon stopped waiting.
type wake struct {
	cause string       // for status and log: "interval", "the store changed"
	known bool         // only the host can have changed: the pass goes by what is known
	event bool         // something on the host asks for it, which may do so without end
	job   *control.Job // what a command asks for; nil: nobody does
	got   *looked      // what the look found that this waited for; nil: it waited for none
}

// Run converges until ctx ends, and then returns nil: to be stopped is no error. READY is said
// once, when everything that kubelet needs is right. What commands ask for is done between two
// passes: there is one loop.
func (d Daemon) Run(ctx context.Context) error {
	d.Pass.Host.Runtime = cri.NewStatusCache()
	l := &life{Daemon: d, health: health{log: d.Pass.Log, said: map[string]string{}}, begun: time.Now(), drift: newHostWatch(d), quarrels: quarrels{}}
	watched, stop := context.WithCancelCause(ctx)
	petted := make(chan error, 1)
	go func() { petted <- d.Manager.Watchdog(watched, l.alive) }()
	defer func() {
		stop(errors.New("the daemon stops"))
		if err := <-petted; err != nil {
			d.Pass.Log.Warn("the watchdog is not petted", zap.Error(err))
		}
	}()

	defer l.drift.close()
	l.edited = edits(watched, d.Store)
	if d.Pass.Assets != nil {
		l.fetch = newAside(ctx, l)
		l.Pass.Assets = l.fetch
	}
	defer func() { l.fetch.close() }()
	ended := make(chan struct{})
	patient := make(chan struct{})
	go func() { defer close(patient); l.patience(ctx, ended) }()
	defer func() { close(ended); <-patient }()

	recoverFirst(ctx, d.Pass.Log, d.Pass.Recover)
	l.beginTelling()
	l.at("the first boot with changed files", func() {
		if err := d.Pass.FirstBoot(ctx); err != nil && ctx.Err() == nil {
			d.Pass.Log.Error("what awaited this boot is not judged: the next pass begins with it", zap.Error(err))
		}
	})
	for ctx.Err() == nil && !l.over {
		if w := l.wait(ctx); w.job != nil {
			l.serve(ctx, w)
		} else if ctx.Err() == nil {
			l.round(ctx, w)
		}
	}
	l.endLook()
	return d.Manager.Stopping()
}

// round makes a pass of the daemon's own.
func (l *life) round(ctx context.Context, w wake) {
	pass, clock := l.observed(ctx, l.Pass, w)
	pass.Known, pass.keeps, pass.daemon = w.known, l.ready, true
	spend := func() {}
	if w.event {
		spend = l.drift.paced()
	}
	var out outcome
	l.at("a pass of its own", func() { out = l.once(ctx, pass, w.got) })
	spend()
	l.tell(ctx, w, out, clock)
}

// wait waits for the time of the next pass, or for what comes before it.
func (l *life) wait(ctx context.Context) wake {
	for {
		if w, ok := l.beginLook(ctx); ok {
			return w
		}
		if w, ok := l.await(ctx); ok || ctx.Err() != nil {
			return w
		}
	}
}

// await waits until there is something to do; false: it is a look to begin.
func (l *life) await(ctx context.Context) (w wake, ok bool) {
	t := time.NewTimer(time.Until(l.next))
	defer t.Stop()
	watched, stop := context.WithCancelCause(ctx)
	defer stop(errors.New("the daemon works"))
	changed, woken, due := l.watch(watched), l.drift.woken(), (<-chan time.Time)(nil)
	poll := time.NewTimer(l.drift.ahead())
	defer poll.Stop()
	services := time.NewTimer(l.services.ahead())
	defer services.Stop()
	for {
		select {
		case <-ctx.Done():
			return wake{cause: "the end"}, true
		case <-t.C:
			return l.due(ctx)
		case got := <-l.looks.result():
			return l.lookEnded(got)
		case <-l.looks.late():
			return l.lookLate(), true
		case <-l.Pass.Host.Runtime.Changed():
			l.drift.forget()
			return wake{cause: "the container runtime answers otherwise", known: true}, l.knows(ctx)
		case <-services.C:
			l.services.begin(ctx, l.Pass.Host, l.ready)
		case got := <-l.services.result():
			l.seen(got)
			services.Reset(l.services.ahead())
		case <-l.fetch.ended():
			return l.fetched(ctx)
		case what := <-changed:
			l.seek(want{cause: what + " changed"})
			return wake{}, false
		case job := <-l.Control.Jobs():
			return asked(job), true
		case <-l.edited:
			l.seek(want{cause: "the store changed"})
			return wake{}, false
		case <-l.Reload:
			l.seek(want{cause: "a reload was asked for"})
			return wake{}, false
		case <-woken:
			woken, due = nil, l.drift.due()
		case <-due:
			return l.drift.take(), true
		case <-poll.C:
			if l.drift.look(ctx) {
				return l.drift.take(), true
			}
			poll.Reset(l.drift.ahead())
		}
	}
}

// at marks that the daemon works, for the watchdog and for who waits.
func (l *life) at(what string, do func()) {
	defer l.Control.Working(what)()
	l.pass.Store(int64(max(time.Since(l.begun), 1)))
	defer l.pass.Store(0)
	do()
}

// tell says what became of a pass, and decides when the next one is.
func (l *life) tell(ctx context.Context, w wake, out outcome, clock *phases) {
	if ctx.Err() != nil {
		return
	}
	defer l.ended(w, out, clock)
	l.drift.ended(out.plan)
	switch {
	case w.known && out.err == nil: // what else was wrong still is
	case w.known:
		l.failures++
	default:
		l.unread, l.away = out.load, out.load != nil && graph.IsTransient(out.load)
		if l.failures++; out.load == nil && out.err == nil {
			l.failures = 0
		}
	}
	tell := l.Manager.Status
	if !l.ready && prepared(out.plan) {
		tell, l.ready = l.Manager.Ready, true
		l.notify.ready.Store(true)
		l.Pass.Log.Info("prepared: kubelet may start")
	}
	said := out
	said.load = l.unread // a pass that did not ask the store knows nothing better
	status := said.status(l.desired)
	l.notify.last.Store(&status)
	l.told(tell(status))
	wait := l.delay(l.failures)
	if w.known && l.looks.idle() { // the store is asked when it was to be asked
		wait = min(wait, max(time.Until(l.next), 0))
	}
	if l.Pass.onTrial() || l.Pass.API != nil && awaitsNode(out.plan) {
		wait = min(wait, trialLook)
	}
	if d := l.desired; d != nil && !d.lookAgain.IsZero() {
		wait = min(wait, max(time.Until(d.lookAgain), time.Second))
	}
	for _, at := range moments(out.plan) {
		wait = min(wait, max(time.Until(at), time.Second))
	}
	l.next = time.Now().Add(wait)
}

// alive says that no pass hangs.
func (l *life) alive() bool {
	since := time.Duration(l.pass.Load())
	return since == 0 || time.Since(l.begun)-since < passLimit
}

// once makes one pass, with what a look found if there was one. A store that cannot be reached, and
// documents that cannot be used, do not stop the repair of what is already known.
func (l *life) once(ctx context.Context, pass Pass, got *looked) (out outcome) {
	if got != nil {
		out.load = l.unlessPinned(l.take(ctx, pass, got))
		if ctx.Err() != nil {
			return out
		}
		l.health.store(out.load, l.desired)
	}
	if l.desired == nil && !pass.Held() {
		return out
	}
	if pass.answers = l.looks.answers; pass.answers == nil {
		pass.answers = &answers{} // nobody was asked yet, and a pass asks nobody
	}
	defer l.reloading()(&out)
	pass.unwritten = l.unwritten
	out.plan, out.err = pass.Converge(ctx, l.desired)
	var unwritten *UnwrittenError
	l.unwritten = errors.As(out.err, &unwritten)
	l.quarrels.keep(out.plan, time.Now())
	if ctx.Err() == nil {
		l.health.pass(out.err)
		l.health.plan(out.plan)
	}
	return out
}

// take takes the documents that a look found. The error says why there are no newer ones than those
// that are known.
func (l *life) take(ctx context.Context, pass Pass, got *looked) error {
	switch {
	case got.err == nil:
		l.took(got.desired)
		return nil
	case errors.Is(got.err, statestore.ErrNotModified):
		return nil
	case l.desired != nil:
		l.desired.because(got.err)
		return got.err
	}
	good, worse := pass.LastGood(ctx, l.Store, l.Select, got.err)
	if good == nil {
		return worse
	}
	l.desired = good
	return got.err
}

// took takes documents, and logs who published them where the node has not made them yet.
func (l *life) took(d *Desired) {
	was, s := l.desired, d.Snapshot
	l.desired = d
	known := was != nil && was.Snapshot.Digest == s.Digest
	if made := l.standing.now.Configuration.Applied; known || was == nil && made != nil && made.Digest == s.Digest {
		return
	}
	fields := []zap.Field{zap.Int64("generation", s.Generation), zap.String("digest", s.Digest), zap.String("store", s.Origin)}
	if !s.Published.IsZero() {
		note := s.Note()
		fields = append(fields, zap.Time("published", s.Published), zap.String("publisher", note.Publisher), zap.String("commit", note.Commit), zap.String("message", note.Message))
	}
	l.Pass.Log.Info("the store has another configuration", fields...)
}

func (d Daemon) delay(failures int) time.Duration { return Delay(d.Interval, failures) }

// Delay is the pause before the next pass: the interval, or after failures a shorter one that
// grows; both with jitter, so that a fleet does not act in step. After failures there is more of
// it: a whole fleet sees a store go at the same time, and must not come back to it at one.
func Delay(interval time.Duration, failures int) time.Duration {
	if failures == 0 {
		return time.Duration(float64(interval) * (0.9 + 0.2*rand.Float64()))
	}
	pause := min(retryFirst<<min(failures-1, 10), retryMax, interval)
	return time.Duration(float64(pause) * (0.5 + rand.Float64()))
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
