package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
)

// A look asks other systems: first the store for newer documents, then the sources of values that
// the documents leave open: the Kubernetes API, EC2 and the metadata service of the instance. It
// runs beside the loop, one at a time. The loop receives the result over a channel and makes a pass
// with it. Until then the loop repairs by the documents that it has. docs/adr/0023-looks.md has the
// reasons.

// Times of a look.
const (
	askLimit = 20 * time.Second // for all sources but the documents together
	// lookLost is when the loop gives a look up. A look needs a moment to notice that its time is
	// over. On a network file system that hangs it never notices.
	lookLost = desired.LoadLimit + askLimit + time.Second
	// lookGrace is how long a pass at an interval waits for its look. After that the pass uses the
	// documents that the loop has, and another pass follows the look.
	lookGrace = time.Second
)

var (
	errLoadLate = fmt.Errorf("it took longer than its limit of %s", desired.LoadLimit)
	errAskLate  = fmt.Errorf("no answer within %s", askLimit)
	errLookOld  = errors.New("a command asks for a newer look")
	errNotYet   = errors.New("the store has not answered yet")
)

// seek asks for a look. Several requests of the daemon itself become one look. A look for a command
// must begin after the command: seek cancels a look of the daemon's own that is under way.
func (s *looks) seek(w want) {
	if w.job != nil && s.now != nil && s.now.job == nil && !s.now.lost {
		s.now.old = true
		s.now.stop(errLookOld)
	}
	for i := range s.wanted {
		if other := &s.wanted[i]; w.job == nil && other.job == nil {
			other.asked = other.asked || w.asked
			return
		}
	}
	s.wanted = append(s.wanted, w)
}

// beginLook begins the next wanted look, unless one is under way. While a look that was given up
// has not ended, beginLook returns at once a trigger with an error instead: no two looks read a
// store at the same time.
func (l *loop) beginLook(ctx context.Context) (answer trigger, at bool) {
	s := &l.looks
	if len(s.wanted) == 0 || s.now != nil && !s.now.lost {
		return trigger{}, false
	}
	w := s.wanted[0]
	s.wanted = s.wanted[1:]
	if s.now != nil {
		err := unread(fmt.Errorf("the look that began at %s has not ended: see whether %s hangs",
			report.Stamp(s.now.began), l.Store))
		return trigger{cause: w.cause, job: w.job, got: &looked{err: err, pass: passOf(l.Pass, w.job), lost: true}}, true
	}
	ctx, stop := context.WithCancelCause(ctx)
	s.now = &looking{want: w, began: time.Now(), pass: l.readied(w.job), result: make(chan looked, 1),
		late: time.NewTimer(lookLost), stop: stop}
	q := question{store: l.Store, sel: l.Select, pass: s.now.pass}
	if q.pass.Hooks = (reconcile.Hooks{}); s.node != nil {
		q.nodes = append(q.nodes, s.node)
	}
	if d := l.desired; d != nil {
		if q.nodes = append(q.nodes, d.Node); d.Taken.IsZero() {
			q.last = d.Snapshot.Revision
		}
	}
	endOfLook := l.progress.begin(func() string { return "asking " + l.Store.String() })
	go func(result chan<- looked) {
		out := q.ask(ctx)
		endOfLook()
		result <- out
	}(s.now.result)
	return trigger{}, false
}

// question has all that a look reads: the goroutine of the look shares nothing with the loop.
type question struct {
	store statestore.Store
	sel   config.Select
	last  statestore.Revision
	pass  reconcile.Pass
	nodes []*config.Node // this node as the documents that the loop has describe it
}

func (q *question) ask(ctx context.Context) looked {
	began := time.Now()
	out := looked{pass: q.pass}
	loading, end := context.WithTimeoutCause(ctx, desired.LoadLimit, errLoadLate)
	defer end()
	if out.desired, out.err = desired.Load(loading, q.store, q.sel, q.last); out.err == nil {
		q.nodes = append([]*config.Node{out.desired.Node}, q.nodes...)
	}
	if loading.Err() != nil && ctx.Err() == nil { // also where the documents that were read are not all
		out.err = unread(errLoadLate)
	}
	hearing, end := context.WithTimeoutCause(ctx, askLimit, errAskLate)
	defer end()
	out.answers = q.pass.Sources().Ask(hearing, q.nodes)
	out.took = time.Since(began)
	return out
}

// lookEnded returns the trigger of a pass with the result of a look, unless the result is out of
// date or needs no pass.
func (l *loop) lookEnded(out looked) (trigger, bool) {
	now := l.looks.now
	l.looks.now = nil
	now.late.Stop()
	now.stop(nil)
	l.restore(now)
	switch {
	case now.lost: // the next look finds the current state
		l.next = time.Now()
		return trigger{}, false
	case now.old:
		return trigger{}, false
	}
	out.pass = now.pass
	old := now.job == nil && errors.Is(out.err, statestore.ErrNotModified) && l.looks.answers.Same(out.answers)
	if l.looks.answers = out.answers; old && !now.asked && l.needsNoPass() {
		l.next = nextLook(time.Now().Add(Delay(l.Interval, 0)), l.awaited)
		l.status.checked(l.next)
		return trigger{}, false
	}
	return trigger{cause: now.cause, job: now.job, got: &out}, true
}

// needsNoPass reports that this interval needs no pass: the whole host was right when a pass last
// looked at it, all sources of events are watched, no pass is due for something that waits, and the
// next interval's pass is early enough.
func (l *loop) needsNoPass() bool {
	due := !l.awaited.IsZero() && !time.Now().Before(l.awaited)
	return !l.whole.IsZero() && time.Since(l.whole)+l.Interval*11/10 <= wholeEvery && !due && l.failures == 0 &&
		l.unread == nil && l.drift.watchesAll()
}

// giveUp marks the look under way as lost, and returns a trigger with its error.
func (s *looks) giveUp() trigger {
	now := s.now
	now.lost = true
	now.stop(errLoadLate)
	return trigger{cause: now.cause, job: now.job,
		got: &looked{err: unread(errLoadLate), took: time.Since(now.began), pass: now.pass, lost: true}}
}

// unread returns the transient error of a store that does not answer.
func unread(why error) error {
	return graph.Transient(fmt.Errorf("fetch the configuration: %w", why))
}

// scheduled is called when a pass is due. It asks for a look first. When that takes longer than
// lookGrace, it returns the trigger of a pass without the look.
func (l *loop) scheduled(ctx context.Context) (trigger, bool) {
	cause := "interval"
	switch {
	case l.status.now.Totals.Passes == 0:
		cause = "start"
	case l.failures > 0:
		cause = "again after a failure"
	}
	if l.looks.idle() {
		l.looks.seek(want{cause: cause})
		l.next = time.Now().Add(lookGrace)
		return trigger{}, false
	}
	l.next = time.Now().Add(Delay(l.Interval, l.failures))
	if l.needsNoPass() {
		return trigger{}, false // the look decides whether a pass is needed
	}
	if !l.knows(ctx) {
		return trigger{}, false
	}
	l.drift.facts = nil
	return trigger{cause: cause, cacheOnly: true}, true
}

// knows reports whether the loop can make a pass without the store: it has documents, the last good
// configuration, or a pinned revision.
func (l *loop) knows(ctx context.Context) bool {
	if l.desired == nil {
		// the answer of the store reports where there is no last good configuration
		l.desired, _ = l.Pass.Rollout().LastGood(ctx, l.Store, l.Select, errNotYet)
		if l.desired != nil {
			l.health.said[theLastGood] = l.desired.Instead // health logs nothing of it before the store has answered
		}
	}
	return l.desired != nil || l.Pass.Session().Pinned()
}

// end answers all waiting commands when the daemon stops, also those in held that wait for an
// asset. It waits up to a second for the look under way.
func (s *looks) end(held []trigger) {
	why := errors.New("the daemon stops, and this command was not begun: run it again")
	for _, w := range s.wanted {
		w.refuse(why)
	}
	for _, w := range held {
		want{job: w.job}.refuse(errors.New("the daemon stops, and this command waited for a download: run it " +
			"again"))
	}
	now := s.now
	if now == nil {
		return
	}
	now.refuse(why)
	now.stop(why)
	select {
	case <-now.result:
		now.late.Stop()
	case <-time.After(time.Second):
	}
}
