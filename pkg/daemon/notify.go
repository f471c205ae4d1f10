package daemon

import (
	"context"
	"time"

	"go.uber.org/zap"
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

// patience keeps the service manager from ending a daemon that works: while it starts, and while it
// brings to its end what it was at when it was told to stop, which may be a checkpoint. After
// readyWithin it lets kubelet start all the same. It returns when the daemon has ended.
func (l *life) patience(ctx context.Context, ended <-chan struct{}) {
	bound := time.NewTimer(readyWithin)
	defer bound.Stop()
	tick := time.NewTicker(extendEvery)
	defer tick.Stop()
	starting := true
	for {
		select {
		case <-ended:
			return
		case <-bound.C:
			starting = false
			if ctx.Err() == nil && !l.notify.ready.Load() {
				l.late()
			}
		case <-tick.C:
			starting = starting && !l.notify.ready.Load()
			if (starting || ctx.Err() != nil) && l.alive() {
				l.told(l.Manager.Extend(extendBy))
			}
		}
	}
}

// late lets kubelet start on a node that is not prepared, and says why.
func (l *life) late() {
	why := "no pass has ended yet"
	if last := l.notify.last.Load(); last != nil {
		why = *last
	}
	l.Pass.Log.Warn("not prepared in time: kubelet may start all the same", zap.Duration("after", readyWithin),
		zap.String("because", why))
	l.told(l.Manager.Ready("not prepared after " + readyWithin.String() + ", kubelet may start all the same: " + why))
}

// reloading tells that another configuration than before is taken, and what it returns that this
// has ended. A daemon that starts is no reload.
func (l *life) reloading() (ended func(*outcome)) {
	was := l.notify.digest
	if l.desired != nil {
		l.notify.digest = l.desired.Snapshot.Digest
	}
	if !l.ready || was == "" || was == l.notify.digest {
		return func(*outcome) {}
	}
	l.told(l.Manager.Reloading())
	return func(out *outcome) { l.told(l.Manager.Ready(out.status(l.desired))) }
}

// told logs that the service manager could not be told.
func (l *life) told(err error) {
	if err != nil {
		l.Pass.Log.Warn("systemd was not told", zap.Error(err))
	}
}
