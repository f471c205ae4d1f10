package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/netip"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// Settings are the settings of checkpoints.
type Settings struct {
	Probes []probe.Probe // the user's, instead of those that are found; the store is always probed
	Window time.Duration // 0: [agentfile.DefaultProbeWindow]
	Store  probe.Probe   // "" for none
	Means  probe.Means
	// Inbound requests that peers connect to this node's ports: the peers in the agent's file, or
	// else, in a pass, those that the API knows. Nil means that no peer is asked. It is not called
	// if the user names the probes.
	Inbound probe.Knocks
	// Record saves in the ledger that a change was undone and judged. It is called before the
	// checkpoint is removed. After an error the checkpoint stays, and Record is called again later.
	// A call may repeat an earlier one. memory is [Change.Before]. Nil means that nothing is
	// recorded.
	Record func(ctx context.Context, h *host.Host, memory json.RawMessage, v Verdict) error
	// Lock takes the lock for [Undo] if another process made the change; nil if the caller holds
	// the lock.
	Lock func(context.Context) (unlock func(), err error)
	// CachesCopy leaves the copy of this program after a good change, for the next checkpoint of
	// this process. A daemon often makes the same repair again soon, and copying takes longer than
	// everything else.
	CachesCopy bool
	Log        *zap.Logger
}

// log returns the log, or one that drops everything.
func (s Settings) log() *zap.Logger { return cmp.Or(s.Log, zap.NewNop()) }

func (s Settings) prober(h *host.Host) probe.Prober { return probe.Prober{Host: h, Means: s.Means} }

// Change describes a change that is going to be applied.
type Change struct {
	Generation int64
	Digest     string // "" if it is of no generation, and then no verdict is saved
	// Keys are all keys that may change, and not only those that may cut the node off: the undo
	// must not leave half of a generation.
	Keys []graph.Key
	// Tasks are the tasks of the keys. A key whose kind restores it itself needs its task.
	Tasks map[graph.Key]tasks.Task
	// Before is what the ledger said of the keys before. It is for [Settings.Record], which another
	// process may call.
	Before json.RawMessage
	// Watch is how long the gateway and the store are watched after a good change that starts or
	// stops programs; 0 for no watch.
	Watch time.Duration
	// AtBoot are those keys that act at the next boot. Reboot allows one more boot after a boot
	// that fails because of them.
	AtBoot []firstboot.Await
	Reboot bool
	// OwnPods reports whether test pods of the agent can prove the network, before the change and
	// after it.
	OwnPods bool
	// Right is the boot in which everything was right last, by the ledger: see
	// [firstboot.Books.Right].
	Right string
	// Pods are the pod ranges in the documents.
	Pods []netip.Prefix
	// OwnLinks are patterns for the links that the node's network makes, as the documents declare
	// them. An undo does not change these links.
	OwnLinks []string
}

// Checkpoint is a checkpoint of one change.
type Checkpoint struct {
	host     *host.Host
	settings Settings
	journal  *Journal
	change   Change
	compared *probe.Comparison
	programs bool                       // the change starts or stops programs whose effects are not known
	program  string                     // runs the undo if this process is gone
	watched  int                        // how many of the journal's Copies belong to a watch
	awaits   *Awaits                    // nil if the change needs no confirmation
	starting func(context.Context) bool // see WaitFor
	unread   func(context.Context) error
	warnings []string
	made     io.Closer // open while this process makes the change; nil if systemd does not watch for its end
}

// unconfirmedTimer undoes a change that was not confirmed. It has another name than [TimerName],
// which is stopped after this one is started. If the process is killed in between, there are two
// timers, and the first one that runs ends both.
const unconfirmedTimer = TimerName + "-unconfirmed"

// watchName is the name of the transient timer and of the service that watches.
const watchName = "netwright-watch"

// WatchFile exists while a good change is watched.
const WatchFile = Dir + "/watch.json"
