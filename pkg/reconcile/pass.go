package reconcile

import (
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/discover"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/reconcile/migrate"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/pkg/tasks"
)

// Hooks tell a caller how a pass goes on. All may be nil; they must be quick.
type Hooks struct {
	execute.Hooks
	session.Progress
	// OnPlan hears the plan of a pass that will be applied, before its first change.
	OnPlan func(*report.Plan)
	// OnFetch hears how far a download is.
	OnFetch func(fetch.Transfer)
	// Built hears what the pass works towards, before it looks at it.
	Built func(d *desired.State, list []tasks.Task, v host.View)
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
	// CacheOnly makes the pass go by what is known: it asks neither the Kubernetes API nor EC2's.
	// For what only the host can have changed.
	CacheOnly bool
	// ForceRepair repairs at once what is given up because somebody else writes it, too. For who
	// asks for a pass by hand.
	ForceRepair bool
	// ConfirmWithin has the change undone unless somebody confirms it in this time, whatever it
	// changes; 0: what passes its probes stays.
	ConfirmWithin time.Duration
	// Agreed is the intent of the plan that the pass may make, and no other; "": any. See
	// [report.Plan.Intent].
	Agreed string
	By     string // who makes the pass, for the history; "" is the agent itself

	// Certificates is where Kubernetes is asked for certificates, in the place of API: for tests,
	// which may so below any root. A dry run never calls it.
	Certificates func() (issue.CertificateAPI, error)

	confirms        bool         // it is to confirm the change that awaits it
	confirmed       *probe.Proof // that of this change, once it is confirmed
	OfDaemon        bool         // it is a pass of the daemon's own, which nobody asked for
	Ready           bool         // what archives installed is kept: nothing waits for this pass
	WasUnwritten    bool         // the last pass of the daemon's own could not write down what it was to change
	issueAnywhere   bool         // also below a root that is no node's: for tests
	UpdatesAnywhere bool         // likewise: spec.update holds there too

	// OnConverged gets what a pass knew that ends with everything right. It may be nil.
	OnConverged func(*Converged)
	Before      *Converged        // what the pass before left, of which this one may keep the ledger; nil: nothing
	Answers     *discover.Answers // what others said in a look; nil: they are asked
	stamps      *ledger.Stamps    // those that a store has too; nil: a pass loads its own
}

// Session is how the pass has the host.
func (p Pass) Session() session.Session {
	return session.Session{Host: p.Host, Log: p.Log, Checkpoint: p.Checkpoint, API: p.API, By: p.By,
		Progress: p.Hooks.Progress, Confirms: p.confirms, Stamps: p.stamps}
}

// Sources are whom the pass asks.
func (p Pass) Sources() discover.Sources {
	return discover.Sources{Host: p.Host, API: p.API, EC2: p.EC2, Live: p.Host.Running(), CacheOnly: p.CacheOnly,
		Answers: p.Answers}
}

// mayIssue tells that this host is a node, and no image of one.
func (p Pass) mayIssue() bool {
	return p.issueAnywhere || p.Certificates != nil || p.Host.Root == "" || p.Host.Root == "/"
}

// circumstances are what a switch of networks goes by.
func (p Pass) circumstances(d *desired.State, r host.FileReader, led *ledger.Ledger) migrate.Circumstances {
	return migrate.Circumstances{
		Sandbox: p.Host.Sandbox, Live: p.Host.Running(), Allowed: migrate.AllowedBy(d, led, p.AllowDisruptive),
		Suppressed: func() *checkpoint.SuppressedError { return p.Rollout().Verdict(r, d) },
	}
}

// Rollout is which configuration the pass works towards.
func (p Pass) Rollout() rollout.Rollout {
	return rollout.Rollout{Host: p.Host, Log: p.Log, Assets: p.Assets, API: p.API, Trust: p.Trust, TakeNow: p.TakeNow,
		AllowDisruptive: p.AllowDisruptive, Anywhere: p.UpdatesAnywhere}
}

// Remember gives a store the memory of this pass' host: see [rollout.Remember].
func (p *Pass) Remember(store statestore.Store) error {
	stamps, err := rollout.Remember(p.Host, store)
	if stamps != nil {
		p.stamps = stamps
	}
	return err
}
