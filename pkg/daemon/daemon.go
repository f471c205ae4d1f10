// Package daemon runs the agent on a node. It waits for a change of the store, of the host or of an
// API, then makes a pass, and publishes the node's status. One loop does all of this.
//
// # Files
//
//   - the loop, and when it acts next: daemon, loop, timers
//   - when the store is asked, and what a look finds: store_look, looks, watch_store, pinned_store
//   - events of the host, and repairs: watch_host, contested_keys, cpu_budget
//   - whether the container runtime and kubelet answer: runtime_and_kubelet
//   - commands of clients: serve_commands
//   - what others learn of a pass: observed_pass, pass_outcome, phase_times, progress
//   - the node's status: node_status, status_*, generations
//   - faults, each logged once: log_troubles
//   - the service manager, and memory: systemd_notify, trim_heap
package daemon

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/statestore"
)

// Manager is the service manager that waits for READY=1; publish.Systemd is one.
type Manager interface {
	Ready(status string) error
	Status(status string) error
	Stopping() error
	// Reloading says that a changed configuration is being applied; Ready says that this has ended.
	Reloading() error
	// Extend asks the service manager for more time to start or to stop, counted from now.
	Extend(by time.Duration) error
	Watchdog(ctx context.Context, alive func() bool) error
}

// Daemon makes a pass when it starts, when something changes, and at intervals.
type Daemon struct {
	Pass   reconcile.Pass
	Store  statestore.Store
	Select config.Select
	// Interval is the time between two looks at the store, plus or minus a tenth. A look that finds
	// nothing new makes no pass where a later one is early enough: see [wholeEvery].
	Interval time.Duration
	Manager  Manager
	Control  *control.Server  // where commands come in; nil: the daemon takes none
	Target   control.Target   // what Store and Select were opened from, named as in a command's flags
	Version  string           // of the agent
	Reload   <-chan os.Signal // asks for a look at the store now; nil: no signal does
	// Watcher reports changes of the host. Without one (nil) only the passes at each interval find
	// drift. Run closes it.
	Watcher *watch.Watcher
	// Observers receive the node's status, in this order.
	Observers []Observer
}

// loop is the state of a running daemon.
type loop struct {
	Daemon
	desired   *desired.State // the last documents that were usable
	health    health
	turn      turn
	failures  int
	next      time.Time // when to look at the store again
	awaited   time.Time // when a pass is due for something that waits; zero: nothing waits
	whole     time.Time // when a pass last looked at the whole host and its facts; zero: not all was right then
	unread    error     // why the last look could not read the store
	away      bool      // unread is transient: the store did not answer
	unwritten bool      // the last pass could not write the ledger before its changes
	over      bool      // a command asked the daemon to end
	pinned    bool      // the node has the pinned configuration, and the store has another one
	status    nodeStatus
	looks     looks
	services  services
	fetch     *fetch.Aside // fetches assets beside the passes; nil: there are none to fetch
	questions *issue.Questions
	unwatched sync.Map        // the logged reason why a source is not watched, by source
	edited    <-chan struct{} // receives when the files of a store on this machine changed
	queued    []trigger       // commands that wait until an asset is fetched
	drift     *hostWatch
	notify    *notifier
	progress  *progress
	contested contestedKeys
	heap      heap
}

// newLoop returns a loop that has no documents yet.
func newLoop(d Daemon) *loop {
	notify := &notifier{manager: d.Manager, log: d.Pass.Log}
	return &loop{Daemon: d, health: health{log: d.Pass.Log, said: map[string]string{}}, turn: turn{daemon: time.Now()},
		drift: newHostWatch(d.Watcher, d.Pass.Host, d.Pass.Log), contested: contestedKeys{},
		notify: notify, progress: &progress{notify: notify}, questions: issue.NewQuestions()}
}

// turn is the work that the loop is doing. The watchdog reads it from another goroutine.
type turn struct {
	daemon time.Time    // when the daemon began
	began  atomic.Int64 // when the work began, in nanoseconds after daemon; 0: the loop waits
}

func (t *turn) begin() { t.began.Store(int64(max(time.Since(t.daemon), 1))) }
func (t *turn) end()   { t.began.Store(0) }

// alive reports that the loop waits, or that its work began less than passLimit ago.
func (t *turn) alive() bool {
	since := time.Duration(t.began.Load())
	return since == 0 || time.Since(t.daemon)-since < passLimit
}
