package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/discover"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
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

	Built func(d *desired.State, list []tasks.Task, v host.View) // hears what the pass works towards, before it looks at it
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

// DryRun says what a pass would change. It opens the host for reading only.
// The error is that of tasks that could not be planned; the plan is returned
// with it.
func (p Pass) DryRun(ctx context.Context, d *desired.State) (*report.Plan, error) {
	led, view, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	defer view.Close() // only read from
	undo, err := p.undoDue(view)
	if err != nil {
		return nil, err
	}
	if d != nil {
		d.Planned(view, p.mayIssue())
	}
	r, err := p.begin(ctx, d, view, led)
	if err != nil {
		return nil, err
	}
	out := r.report(report.Planned)
	history.Recall(out, view, led)
	r.tell(p, out, view)
	p.foretell(out, r, d, view)
	out.Notes = append(out.Notes, undo...)
	for _, off := range service.Off(p.Host) {
		out.Off = append(out.Off, off)
		out.Notes = append(out.Notes, report.Note{Level: "warning", Text: "the agent is switched off: " + off})
	}
	if out.Paused = p.paused(view); out.Paused != nil {
		out.Notes = append(out.Notes, report.Note{Level: "warning", Text: "nothing of this is done now: the node is " + out.Paused.String() + "; `agent resume` ends that"})
	}
	unwritable := ledger.InTheWay(view)
	if unwritable != nil {
		out.Notes = append(out.Notes, report.Note{Level: "error", Text: unwritable.Error()})
	}
	return out, errors.Join(changes.Failure(r.rep), r.unbuilt, unwritable)
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

// Converge makes the host match, once. When all is right it writes nothing.
// The returned plan tells what was done, what waits and what failed. d may be nil
// where the node is held at a revision.
func (p Pass) Converge(ctx context.Context, d *desired.State) (*report.Plan, error) {
	plan, err := p.convergeLocked(ctx, d)
	var awaits *AwaitsError
	if errors.As(err, &awaits) && p.TakeNow == "" {
		return p.lookMeanwhile(ctx, d, &awaits.Awaits)
	}
	return plan, err
}

func (p Pass) convergeLocked(ctx context.Context, d *desired.State) (*report.Plan, error) {
	return p.locked(ctx, p.noting(ctx, func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		if z := p.paused(h); z != nil && p.TakeNow != "" {
			return nil, &PausedError{*z, "`agent resume`"}
		} else if z != nil {
			return p.lookOnly(ctx, d, h, led, z)
		}
		pauses := ledger.DropPause(h) // it is over, whether or not its note goes
		newest := d
		waited, _ := ledger.ReadUpdate(h) // what is damaged is said by taking
		d, err := p.taking(ctx, d, h, led)
		if err != nil {
			return nil, err
		}
		var plan *report.Plan
		if err = p.issue(ctx, d, h); err == nil {
			if newest != nil {
				newest.LookAgain = d.LookAgain
			}
			before := led.Head().Current
			next, _ := led.NextRevision(h) // that they cannot be listed is said where one is made
			plan, err = p.converge(ctx, d, h, led)
			p.noteForward(ctx, h, led, before, next, plan)
		}
		if d != nil && d.Undone != nil {
			err = errors.Join(err, d.Undone)
		}
		if p.TakeNow != "" && aborted(err) {
			err = errors.Join(err, waitAgain(context.WithoutCancel(ctx), h, waited))
		}
		if plan == nil || d == nil || plan.Awaits != nil || d.Waiting != nil || plan.Digest != d.Snapshot.Digest || changes.BesidesTasks(err) != nil { // it worked towards something else, or took it back
			return plan, errors.Join(err, pauses)
		}
		if failed := p.keep(ctx, d, h, led); failed != nil {
			return plan, errors.Join(err, failed, pauses)
		}
		return plan, errors.Join(err, ledger.DropUpdate(h), pauses)
	}))
}

// locked does something to the host as the only one that does.
func (p Pass) locked(ctx context.Context, do func(*host.Host, *ledger.Ledger) (*report.Plan, error)) (*report.Plan, error) {
	unlock, err := ipc.Lock(ctx, p.Host.Files(), ledger.LockFile, p.Hooks.onWait())
	if err != nil {
		return nil, err
	}
	defer unlock()
	return p.holding(ctx, do)
}

// holding is locked for who has the lock.
func (p Pass) holding(ctx context.Context, do func(*host.Host, *ledger.Ledger) (*report.Plan, error)) (*report.Plan, error) {
	p.Hooks.enter("look")
	led, err := p.loadLedger()
	if err != nil {
		return nil, err
	}
	opt := p.Host
	opt.Stamps, opt.Log, opt.FollowLinks = led, p.Log, led.Head().Followed()
	h, err := host.Open(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("look at the host: %w", err)
	}
	defer h.Close() // every write was synced and checked where it was made
	p.API.Met(h.Facts())
	// Before an undo, which clears up what is staged.
	RecoverFirst(ctx, p.Log, h.Recover)
	if err := p.finishUndo(ctx, h, led); err != nil {
		return nil, err
	}
	if err := p.firstBoot(ctx, h, led); err != nil {
		return nil, err
	}
	out, err := do(h, led)
	history.Recall(out, h, led)
	p.Hooks.enter("record")
	if err := h.LearnVersions(ctx); err != nil && p.Log != nil {
		p.Log.Warn("a program's version stays unknown", zap.Error(err))
	}
	h.SettleStamps()
	return out, errors.Join(err, led.SaveOwed(ctx, h), led.SaveStamps(ctx, h))
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
