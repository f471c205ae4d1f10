package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// Times of what the service manager is told.
const (
	// readyWithin is how long kubelet is held back by a node that is not prepared. A node that
	// joins, and says why it is not right, is of more use than one that nobody hears of; it is
	// below the unit's TimeoutStartSec, after which systemd would end the daemon in the middle of
	// its work.
	readyWithin = 5 * time.Minute
	extendEvery = 15 * time.Second
	extendBy    = time.Minute // the unit's TimeoutStopSec
)

// notifier tells the service manager how the daemon goes on. Several goroutines use it.
type notifier struct {
	manager Manager
	log     *zap.Logger
	ready   atomic.Bool // all that kubelet needs was right once
	last    atomic.Pointer[string]
	digest  string // of the configuration that was last worked towards; the loop's own
}

// extendTimeout keeps the service manager from ending a daemon that works: while it starts, and
// while it brings to its end what it was at when it was told to stop, which may be a checkpoint.
// After readyWithin it lets kubelet start all the same. alive says that the daemon works. It
// returns when the daemon has ended.
func (n *notifier) extendTimeout(ctx context.Context, ended <-chan struct{}, alive func() bool) {
	bound := time.NewTimer(readyWithin)
	defer bound.Stop()
	tick := time.NewTicker(extendEvery)
	defer tick.Stop()
	starting, told := true, ctx.Done()
	for {
		select {
		case <-ended:
			return
		case <-told:
			told = nil
			tick.Reset(extendEvery)
		case <-bound.C:
			starting = false
			if ctx.Err() == nil && !n.ready.Load() {
				n.late()
			}
		case <-tick.C:
			starting = starting && !n.ready.Load()
			switch {
			case !starting && told != nil:
				tick.Stop() // each tick wakes a daemon that has nothing to do
			case alive():
				n.logged(n.manager.Extend(extendBy))
			}
		}
	}
}

// passEnded tells how a pass ended. READY=1 goes with the first that leaves the node prepared: all
// that kubelet needs is right then, and it may start.
func (n *notifier) passEnded(status string, plan *report.Plan) {
	tell := n.manager.Status
	if !n.ready.Load() && changes.Prepared(plan) {
		n.ready.Store(true)
		tell = n.manager.Ready
		n.log.Info("prepared: kubelet may start")
	}
	n.last.Store(&status)
	n.logged(tell(status))
}

// hangs tells of work that has not ended, and at what it is.
func (n *notifier) hangs(where string) {
	n.log.Warn(report.NotEnded, zap.String("at", where), zap.Duration("after", passLate))
	n.logged(n.manager.Status(report.NotEnded + " (" + where + ")"))
}

// late lets kubelet start on a node that is not prepared, and says why.
func (n *notifier) late() {
	why := "no pass has ended yet"
	if last := n.last.Load(); last != nil {
		why = *last
	}
	n.log.Warn("not prepared in time: kubelet may start all the same", zap.Duration("after", readyWithin),
		zap.String("because", why))
	n.logged(n.manager.Ready("not prepared after " + readyWithin.String() + ", kubelet may start all the same: " + why))
}

// reloading tells that another configuration than before is taken, and what it returns that this
// has ended. A daemon that starts is no reload.
func (n *notifier) reloading(to *desired.State) (ended func(*outcome)) {
	was := n.digest
	if to != nil {
		n.digest = to.Snapshot.Digest
	}
	if !n.ready.Load() || was == "" || was == n.digest {
		return func(*outcome) {}
	}
	n.logged(n.manager.Reloading())
	return func(out *outcome) { n.logged(n.manager.Ready(out.status(to))) }
}

// logged logs that the service manager could not be told.
func (n *notifier) logged(err error) {
	if err != nil {
		n.log.Warn("systemd was not told", zap.Error(err))
	}
}
