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

// Times of the notifications to the service manager.
const (
	// readyWithin is how long kubelet waits for a node that is not prepared. A node that joins and
	// reports why it is not right is of more use than one that does not appear at all. It is
	// shorter than the unit's TimeoutStartSec, after which systemd would end the daemon in the
	// middle of its work.
	readyWithin = 5 * time.Minute
	extendEvery = 15 * time.Second
	extendBy    = time.Minute // as the unit's TimeoutStopSec
)

// notifier sends the daemon's state to the service manager. Several goroutines use it.
type notifier struct {
	manager Manager
	log     *zap.Logger
	ready   atomic.Bool // READY=1 was sent for a prepared node
	last    atomic.Pointer[string]
	digest  string // of the configuration of the last pass; only the loop uses it
}

// extendTimeout asks the service manager for more time while the daemon starts, and while it ends
// its work after it was told to stop, which may be a checkpoint. After readyWithin it lets kubelet
// start although the node is not prepared. alive reports whether the daemon works. extendTimeout
// returns when ended is closed.
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
				tick.Stop() // each tick would wake a daemon that has nothing to do
			case alive():
				n.logged(n.manager.Extend(extendBy))
			}
		}
	}
}

// passEnded sends the status after a pass. With the first pass that leaves the node prepared it
// sends READY=1: everything that kubelet needs is right, and kubelet may start.
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

// hangs reports where work has not ended for passLate.
func (n *notifier) hangs(where string) {
	n.log.Warn(report.NotEnded, zap.String("at", where), zap.Duration("after", passLate))
	n.logged(n.manager.Status(report.NotEnded + " (" + where + ")"))
}

// late sends READY=1 for a node that is not prepared, and says why it is not.
func (n *notifier) late() {
	why := "no pass has ended yet"
	if last := n.last.Load(); last != nil {
		why = *last
	}
	n.log.Warn("not prepared in time: kubelet may start anyway", zap.Duration("after", readyWithin),
		zap.String("because", why))
	n.logged(n.manager.Ready("not prepared after " + readyWithin.String() + ", kubelet may start anyway: " + why))
}

// reloading tells the service manager that a changed configuration is applied, and the function
// that it returns tells that this has ended. The first configuration after a start is no reload.
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

// logged logs an error of a notification to the service manager.
func (n *notifier) logged(err error) {
	if err != nil {
		n.log.Warn("systemd could not be notified", zap.Error(err))
	}
}
