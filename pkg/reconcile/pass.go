package reconcile

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/discover"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/pkg/tasks"
)

// Hooks tell a caller how a pass goes on. All may be nil; they must be quick.
type Hooks struct {
	execute.Hooks
	// OnPlan hears the plan of a pass that will be applied, before its first change.
	OnPlan func(*report.Plan)
	// OnWait hears whom the pass waits for before it begins, once.
	OnWait func(who string)
	// OnPhase hears which part of the pass begins: "look", "plan", "apply", "remove", "record".
	OnPhase func(name string)

	// hears what the pass works towards, before it looks at it
	Built func(d *desired.State, list []tasks.Task, v host.View)
}

// waits tells whom the pass waits for.
func (h Hooks) waits(who string) {
	if h.OnWait != nil {
		h.OnWait(who)
	}
}

// onWait tells of another run.
func (h Hooks) onWait() func(ipc.Holder) {
	if h.OnWait == nil {
		return nil
	}
	return func(who ipc.Holder) { h.OnWait("another run: " + who.String()) }
}

// enter tells which part of a pass begins.
func (h Hooks) enter(phase string) {
	if h.OnPhase != nil {
		h.OnPhase(phase)
	}
}

// Pass is one look at the host, and what comes of it.
type Pass struct {
	Host   host.Options // without stamps: the ledger brings them
	Assets tasks.Fetcher
	Log    *zap.Logger
	Trust  *trust.Policy // what the store is held against; nil: nothing
	Hooks  Hooks
	// Checkpoint is how a change is probed that may cut the node off.
	Checkpoint checkpoint.Settings
	// AllowDisruptive lets a switch of networks happen that pods notice, whatever the documents
	// say.
	AllowDisruptive bool
	// EndPause lets a rollback end a pause: it holds the node where it brings it.
	EndPause bool
	API      *access.API  // the Kubernetes API; nil: it is not asked
	EC2      discover.EC2 // EC2's API; nil: it is not asked
	// TakeNow is who lets a changed configuration go that would wait by spec.update; "": nobody.
	TakeNow string
	// Known makes the pass go by what is known: it asks neither the Kubernetes API nor EC2's. For
	// what only the host can have changed.
	Known bool
	// Afresh repairs at once what is given up because somebody else writes it, too. For who asks
	// for a pass by hand.
	Afresh bool
	// ConfirmWithin has the change undone unless somebody confirms it in this time, whatever it
	// changes; 0: what passes its probes stays.
	ConfirmWithin time.Duration
	By            string // who makes the pass, for the history; "" is the agent itself
	// RemoveChanged makes a reset take along what somebody changed meanwhile. Of any other pass the
	// documents say it (spec.prune).
	RemoveChanged bool

	// Certificates is where Kubernetes is asked for certificates, in the place of API: for tests,
	// which may so below any root. A dry run never calls it.
	Certificates func() (issue.CertificateAPI, error)

	confirms        bool              // it is to confirm the change that awaits it
	confirmed       *checkpoint.Proof // that of this change, once it is confirmed
	OfDaemon        bool              // it is a pass of the daemon's own, which nobody asked for
	Ready           bool              // what archives installed is kept: nothing waits for this pass
	WasUnwritten    bool              // the last pass of the daemon's own could not write down what it was to change
	issueAnywhere   bool              // also below a root that is no node's: for tests
	UpdatesAnywhere bool              // likewise: spec.update holds there too

	Answers *discover.Answers // what others said in a look; nil: they are asked
	stamps  *ledger.Stamps    // those that a store has too; nil: a pass loads its own
}

// by is who makes the pass.
func (p Pass) by() string {
	if p.By == "" {
		return "agent"
	}
	return p.By
}

// look opens the host for reading, with the stamps that the ledger has.
func (p Pass) look(ctx context.Context) (*ledger.Ledger, *host.Live, error) {
	led, err := p.loadLedger()
	if err != nil {
		return nil, nil, err
	}
	opt := p.Host
	opt.Stamps, opt.FollowLinks = led, led.Head().Followed()
	view, err := host.OpenView(ctx, opt)
	if err != nil {
		return nil, nil, fmt.Errorf("look at the host: %w", err)
	}
	return led, view, nil
}

// loadLedger reads the ledger through the root, before the host is opened with it.
func (p Pass) loadLedger() (*ledger.Ledger, error) {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.Host.Root, err)
	}
	defer files.Close() // only read from
	led := (*ledger.Ledger)(nil)
	if p.stamps != nil {
		led = ledger.LoadWith(files, p.stamps)
	} else {
		led = ledger.Load(files)
	}
	return led, led.Newer
}

// Held says that the node is held at a revision, so that a pass needs nothing of the store.
func (p Pass) Held() bool {
	led, err := p.loadLedger()
	return err == nil && led.Head().Held != nil
}

// live says that the pass works on the running host, and not on an image or in a sandbox.
func (p Pass) live() bool { return !p.Host.Sandbox && (p.Host.Root == "" || p.Host.Root == "/") }

// Sources are whom the pass asks.
func (p Pass) Sources() discover.Sources {
	return discover.Sources{Host: p.Host, API: p.API, EC2: p.EC2, Live: p.live(), Known: p.Known, Answers: p.Answers}
}

// mayIssue tells that this host is a node, and no image of one.
func (p Pass) mayIssue() bool {
	return p.issueAnywhere || p.Certificates != nil || p.Host.Root == "" || p.Host.Root == "/"
}

// circumstances are what a switch of networks goes by.
func (p Pass) circumstances(d *desired.State, r checkpoint.Reader, led *ledger.Ledger) migrate.Circumstances {
	return migrate.Circumstances{
		Sandbox: p.Host.Sandbox, Live: p.live(), Allowed: migrate.AllowedBy(d, led, p.AllowDisruptive),
		Held: func() *checkpoint.HeldError { return p.verdict(r, d) },
	}
}

// verdict holds a generation back. Of one that nobody confirmed nothing is known to be wrong: who
// asks for it has it.
func (p Pass) verdict(r checkpoint.Reader, d *desired.State) *checkpoint.HeldError {
	why := checkpoint.Held(r, d.Snapshot.Digest, time.Now())
	if why != nil && why.Unconfirmed && p.TakeNow != "" {
		return nil
	}
	return why
}

func (p Pass) paused(r ledger.Reader) *report.Paused {
	z, err := ledger.ReadPause(r)
	if err != nil && p.Log != nil {
		p.Log.Warn("whether the node is paused is not known: it is not", zap.Error(err))
	}
	if z == nil {
		return nil
	}
	now := ledger.ClockOf(r, time.Now().UTC())
	if !now.Now.Before(z.Ends(now)) {
		return nil
	}
	return pausedAs(z, now)
}

func pausedAs(z *ledger.Pause, now ledger.Clock) *report.Paused {
	return &report.Paused{Until: z.Ends(now).UTC().Truncate(time.Second), Reason: z.Reason, By: z.By}
}

// AwaitsError is something that was asked for and not done, since a change awaits its confirmation.
type AwaitsError struct{ report.Awaits }

func (e *AwaitsError) Error() string {
	return "nothing was changed: " + e.String() + "; " +
		"`agent confirm` in a new login keeps it, and `agent undo` takes it back now"
}

// PausedError is something that was asked for and not done, because the node is paused.
type PausedError struct {
	report.Paused
	ends string // the command that ends it
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("nothing was changed: the node is %s; %s ends that", e.Paused.String(), e.ends)
}

// MaxPause is how long a pause may be: one that nobody ends must not be found a month later.
const MaxPause = 24 * time.Hour
