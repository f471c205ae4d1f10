package daemon

import (
	"math"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// nextLook returns when to look again: next, or sooner for the moment that a pass awaits. awaited
// may be a time of the wall clock. Its distance is counted from now, by the monotonic clock:
// otherwise a clock that is set back by hours would delay the look by hours.
func nextLook(next, awaited time.Time) time.Time {
	if now := time.Now(); !awaited.IsZero() {
		return report.Sooner(next, now.Add(awaited.Sub(now)))
	}
	return next
}

// nextMoment returns when a pass is due for what waits; zero: nothing waits.
func nextMoment(pass reconcile.Pass, d *desired.State, p *report.Plan) (at time.Time) {
	now := time.Now()
	if probation.Open(pass.Host) || pass.API != nil && awaitsNode(p) {
		at = now.Add(reconcile.ProbationPoll)
	}
	again := func(due time.Time) {
		if soon := now.Add(time.Second); !due.IsZero() && due.Before(soon) {
			due = soon
		}
		at = report.Sooner(at, due)
	}
	if d != nil && (p == nil || p.Paused == nil && p.Awaits == nil) { // otherwise the pass renews nothing
		again(d.LookAgain)
	}
	if p == nil {
		return at
	}
	again(p.Again)
	if p.Waiting != nil {
		again(p.Waiting.Until)
	}
	if p.Paused != nil {
		again(p.Paused.Until)
	}
	if p.Awaits != nil {
		again(p.Awaits.Until)
	}
	if w := p.Watched; w != nil && now.Before(w.Until) {
		again(w.Until)
	}
	return at
}

// Delay returns the pause before the next pass. Without failures it is the interval with ±10 % of
// jitter, so that the nodes of a fleet do not act at the same time. After failures it is shorter,
// doubles each time, and has ±50 % of jitter: all nodes notice the outage of a store at the same
// time, and must not all ask it again at the same time.
func Delay(interval time.Duration, failures int) time.Duration {
	if failures == 0 {
		return host.Jitter(interval, 0.1)
	}
	pause := min(retryFirst<<min(failures-1, 10), retryMax, interval)
	return host.Jitter(pause, 0.5)
}

// Times of the daemon.
const (
	retryFirst = time.Second // after a failed pass; doubled each time …
	retryMax   = time.Minute // … up to this, and never above the interval
	// wholeEvery is how often a pass looks at the whole host while every source of events is
	// watched. A pass does so at each interval where the interval is longer, where a source cannot
	// be watched, and after a failure.
	wholeEvery = 10 * time.Minute
	passLate   = 5 * time.Minute  // the status reports a pass that takes longer: it may hang
	passLimit  = 30 * time.Minute // a pass that takes longer hangs: the watchdog may end the daemon
)

// never is a wait without an end: it is longer than every interval.
const never = time.Duration(math.MaxInt64)

// until returns how long it is until a time; never for the zero time.
func until(at time.Time) time.Duration {
	if at.IsZero() {
		return never
	}
	return max(time.Until(at), 0)
}

// awaitsNode reports that a plan waits for the pod CIDRs of the Node, which kubelet and the
// controller manager set within seconds.
func awaitsNode(p *report.Plan) bool {
	return p != nil && slices.ContainsFunc(p.Steps, func(s report.Step) bool {
		return s.State == report.Waits && s.Key == string(tasks.Await{Name: network.PodCIDRs}.Owns()[0])
	})
}
