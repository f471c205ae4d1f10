// Package daemon is the life of the agent on a node: it waits for what happens to the store, the
// host and others, makes a pass then, and tells how the node stands. There is one loop.
package daemon

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
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
	Pass   reconcile.Pass
	Store  statestore.Store
	Select config.Select
	// Interval is between two looks at the store, give or take a tenth. After one that finds
	// nothing new no pass is made where another one comes in time: see [wholeEvery].
	Interval time.Duration
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

// loop is what a daemon knows while it runs.
type loop struct {
	Daemon
	desired   *desired.State // the last documents that could be used
	health    health
	turn      turn
	failures  int
	next      time.Time // when to look again
	awaited   time.Time // when something comes that a pass waits for; zero: nothing does
	whole     time.Time // when all of the host was looked at last, facts too; zero: not all was right then
	unread    error     // why the store could not be read when it was last asked
	away      bool      // that is for want of an answer, and not for what the store has
	unwritten bool      // the last pass could not write down what it was to change
	over      bool      // somebody asked the daemon to end
	pinned    bool      // the store has another configuration than the pin names, and the node has that
	status    nodeStatus
	looks     looks
	services  services
	fetch     *fetch.Aside    // nil: nothing is fetched
	unwatched sync.Map        // by what, why it is not watched, as it was logged
	edited    <-chan struct{} // has something when the files of a store of this machine changed
	queued    []trigger       // commands that what is being fetched keeps waiting
	drift     *hostWatch
	notify    *notifier
	progress  *progress
	contested contestedKeys
	heap      heap
}

// newLoop knows nothing yet.
func newLoop(d Daemon) *loop {
	notify := &notifier{manager: d.Manager, log: d.Pass.Log}
	return &loop{Daemon: d, health: health{log: d.Pass.Log, said: map[string]string{}}, turn: turn{daemon: time.Now()},
		drift: newHostWatch(d.Watcher, d.Pass.Host, d.Pass.Log), contested: contestedKeys{},
		notify: notify, progress: &progress{notify: notify}}
}

// turn is what the loop is at. The watchdog looks at it.
type turn struct {
	daemon time.Time    // when the daemon began
	began  atomic.Int64 // when this did, in nanoseconds after that; 0: the loop waits
}

func (t *turn) begin() { t.began.Store(int64(max(time.Since(t.daemon), 1))) }
func (t *turn) end()   { t.began.Store(0) }

// alive says that nothing hangs.
func (t *turn) alive() bool {
	since := time.Duration(t.began.Load())
	return since == 0 || time.Since(t.daemon)-since < passLimit
}

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

// Times of the daemon.
const (
	retryFirst = time.Second // after a failed pass, doubled each time …
	retryMax   = time.Minute // … up to this, and never above the interval
	// wholeEvery is how often a pass looks at all of a host of which every source is heard. At each
	// interval it does where that is longer, where a source cannot be heard, and after a failure.
	wholeEvery = 10 * time.Minute
	passLate   = 5 * time.Minute  // a pass that takes longer is told of: it may hang
	passLimit  = 30 * time.Minute // a pass that takes longer hangs: the watchdog may end it
)
