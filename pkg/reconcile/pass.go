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

// Hooks tell the caller about the progress of a pass. Each may be nil, and each must return
// quickly.
type Hooks struct {
	execute.Hooks
	session.Progress
	// OnPlan receives the plan of a pass that will be applied, before its first change.
	OnPlan func(*report.Plan)
	// OnFetch receives how far a download is.
	OnFetch func(fetch.Transfer)
	// Built receives what the pass works towards, before the pass looks at the host for it.
	Built func(d *desired.State, list []tasks.Task, v host.View)
}

// Pass makes the host match the documents once. Its fields say how.
type Pass struct {
	Host   host.Options // without stamps, which come from the ledger
	Assets tasks.Fetcher
	Log    *zap.Logger
	Trust  *trust.Policy // the policy that the store's manifests must satisfy; nil: there is none
	Hooks  Hooks
	// Checkpoint says how a change is probed that may cut the node off.
	Checkpoint checkpoint.Settings
	// AllowDisruptive allows a switch of networks that interrupts pods, whatever the documents say.
	AllowDisruptive bool
	// EndPause allows a rollback on a paused node. The rollback ends the pause, and then holds the
	// node at the revision.
	EndPause bool
	API      *access.API  // the Kubernetes API; nil: it is not asked
	EC2      discover.EC2 // EC2's API; nil: it is not asked
	// TakeNow is the person who approves a configuration that would wait because of spec.update;
	// "": nobody does.
	TakeNow string
	// CacheOnly makes the pass use cached answers: it asks neither the Kubernetes API nor EC2's
	// API. It is for a pass after a change that only the host can have made.
	CacheOnly bool
	// ForceRepair repairs at once even a key that was given up because another program writes it.
	// It is for a pass that a person asks for.
	ForceRepair bool
	// ConfirmWithin makes the undo take the change back unless somebody confirms it within this
	// time, whatever it changes. 0: a change that passes its probes stays.
	ConfirmWithin time.Duration
	// Agreed is the intent of the only plan that the pass may apply; "": any plan. See
	// [report.Plan.Intent].
	Agreed string
	By     string // who asks for the pass, for the history; "": the agent itself

	// Certificates returns the API from which certificates are requested, in place of API. It is
	// for tests, which may request them below any root. A dry run never calls it.
	Certificates func() (issue.CertificateAPI, error)
	// Questions asks Kubernetes for certificates beside the pass. nil: the pass waits for the API.
	Questions *issue.Questions

	confirms        bool         // the pass confirms the change that awaits its confirmation
	confirmed       *probe.Proof // the proof of that change, once it is confirmed
	OfDaemon        bool         // the daemon makes the pass by itself; nobody asked for it
	Ready           bool         // READY was said: nothing waits for this pass, so it keeps copies of archives
	WasUnwritten    bool         // the daemon's last pass could not record what it was about to change
	issueAnywhere   bool         // certificates are also requested below a root that is not a node's: for tests
	UpdatesAnywhere bool         // spec.update also applies below a root that is not a node's: for tests

	// OnConverged receives what a pass knew that ended with everything right. It may be nil.
	OnConverged func(*Converged)
	Before      *ledger.Cached    // the ledger that the last pass left, which may be used again; nil: nothing
	Answers     *discover.Answers // what others answered in a look; nil: the pass asks them
	stamps      *ledger.Stamps    // the stamps that a store uses too; nil: the pass loads its own
}

// Session returns the session with which the pass opens the host.
func (p Pass) Session() session.Session {
	return session.Session{Host: p.Host, Log: p.Log, Checkpoint: p.Checkpoint, API: p.API, By: p.By,
		Progress: p.Hooks.Progress, Confirms: p.confirms, Stamps: p.stamps}
}

// Sources returns the sources that the pass asks.
func (p Pass) Sources() discover.Sources {
	return discover.Sources{Host: p.Host, API: p.API, EC2: p.EC2, Live: p.Host.Running(), CacheOnly: p.CacheOnly,
		Answers: p.Answers}
}

// mayIssue reports whether the pass may request certificates: only for a node, not for an image.
func mayIssue(p Pass) bool {
	return p.issueAnywhere || p.Certificates != nil || p.Host.Root == "" || p.Host.Root == "/"
}

// circumstances returns what decides about a switch of networks.
func (p Pass) circumstances(d *desired.State, r host.FileReader, led *ledger.Ledger) migrate.Circumstances {
	return migrate.Circumstances{
		Sandbox: p.Host.Sandbox, Live: p.Host.Running(), Allowed: migrate.AllowedBy(d, led, p.AllowDisruptive),
		Suppressed: func() *checkpoint.SuppressedError { return p.Rollout().Verdict(r, d) },
	}
}

// Rollout returns what decides which configuration the pass works towards.
func (p Pass) Rollout() rollout.Rollout {
	return rollout.Rollout{Host: p.Host, Log: p.Log, Assets: p.Assets, API: p.API, Trust: p.Trust, TakeNow: p.TakeNow,
		AllowDisruptive: p.AllowDisruptive, Anywhere: p.UpdatesAnywhere}
}

// Remember gives a store the memory of this pass's host: see [rollout.Remember].
func (p *Pass) Remember(store statestore.Store) error {
	stamps, err := rollout.Remember(p.Host, store)
	if stamps != nil {
		p.stamps = stamps
	}
	return err
}
