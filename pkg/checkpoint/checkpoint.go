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

// Settings are the user's.
type Settings struct {
	Probes []probe.Probe // instead of those that are found; the store's is always tried
	Window time.Duration // 0: [agentfile.DefaultProbeWindow]
	Store  probe.Probe   // "": none
	Means  probe.Means
	// Inbound has peers knock on this node's ports: those of the agent's file, else a pass has
	// those asked that the API knows. nil: nobody is. With the user's own probes it is not called.
	Inbound probe.Knocks
	// Record saves in the ledger that a change was undone and judged, while the
	// checkpoint is still there: an error keeps it, for another attempt. What it does may be done
	// again. memory is [Change.Before]. nil: nobody does.
	Record func(ctx context.Context, h *host.Host, memory json.RawMessage, v Verdict) error
	// Lock is taken by [Undo] when the process that made the change is gone; nil: the caller has
	// it.
	Lock func(context.Context) (unlock func(), err error)
	// CachesCopy leaves the copy of this program where it is when a change was good, for the next
	// one of this process: a daemon repairs soon what it repaired once, and the copy takes longer
	// than everything else.
	CachesCopy bool
	Log        *zap.Logger
}

// log is the log, or one that drops all.
func (s Settings) log() *zap.Logger { return cmp.Or(s.Log, zap.NewNop()) }

func (s Settings) prober(h *host.Host) probe.Prober { return probe.Prober{Host: h, Means: s.Means} }

// Change says what is going to be applied.
type Change struct {
	Generation int64
	Digest     string // "": of no generation, and no verdict is kept
	// Keys are all that may change: not only what may cut the node off, since half a generation is
	// none.
	Keys []graph.Key
	// Tasks look after the keys, by key. Keys of kinds that bring themselves back need theirs.
	Tasks map[graph.Key]tasks.Task
	// Before is for [Settings.Record], which another process may call: what was known of the keys
	// before.
	Before json.RawMessage
	// Watch is for how long the gateway and the store are watched once the change was good, if it
	// starts or stops programs. 0: not at all.
	Watch time.Duration
	// AtBoot are those of the keys that act at the next boot. Reboot says that a boot which fails
	// by them may be followed by another one.
	AtBoot []firstboot.Await
	Reboot bool
	// OwnPods says that pods of the agent's own can judge the network, and shall have it afterwards
	// too.
	OwnPods bool
	// Right is the boot in which the books say that all was right last: see
	// [firstboot.Books.Right].
	Right string
	// Pods are the ranges of pods that the documents state.
	Pods []netip.Prefix
	// OwnLinks are patterns of the links that the node's network makes, as the documents declare
	// them: an undo leaves these alone.
	OwnLinks []string
}

// Checkpoint is how everything was before a change.
type Checkpoint struct {
	host     *host.Host
	settings Settings
	journal  *Journal
	change   Change
	compared *probe.Comparison
	programs bool                       // the change starts or stops some of which nobody knows what they do
	program  string                     // that undoes when this process is gone
	watched  int                        // how many of the journal's Copies are those of a watch
	awaits   *Awaits                    // nil: what passes its probes stays
	starting func(context.Context) bool // see WaitFor
	unread   func(context.Context) error
	warnings []string
	made     io.Closer // held for as long as this process makes the change; nil: nobody is notified of its end
}

// unconfirmedTimer undoes what nobody confirmed. It is not [TimerName], which stands until this one
// does: whoever is killed between them has two, and the first that runs ends both.
const unconfirmedTimer = TimerName + "-unconfirmed"

// watchName names the transient timer and the service that watches.
const watchName = "netwright-watch"

// WatchFile says that a good change is watched.
const WatchFile = Dir + "/watch.json"
