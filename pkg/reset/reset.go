// Package reset removes everything of the agent from a host, and restores the baselines.
package reset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/pkg/verify/traffic"
)

// Reset is a requested reset.
type Reset struct {
	Session session.Session
	Hooks   execute.Hooks
	// OnPlan receives the plan before the first change; nil: it is not shown.
	OnPlan func(*report.Plan)
	// RemoveChanged also removes keys that a person or another program changed.
	RemoveChanged bool
}

// Run removes everything of the agent from the host and restores the baselines: files with owner,
// mode and times, sysctls, units. It stops and disables the daemon first, because the daemon would
// converge again; no daemon can start until the end. Run names what it cannot restore. Then it
// keeps the ledger, so that reset can be called again.
func (p Reset) Run(ctx context.Context) (*report.Plan, error) {
	if a := p.Session.Awaits(); a != nil {
		return nil, &session.AwaitsError{Awaits: *a}
	}
	if err := p.resettable(); err != nil { // before the daemon is stopped
		return nil, err
	}
	alone, err := service.StopDaemon(ctx, p.Session.Host, p.Session.By, p.Session.Progress.Waits)
	if err != nil {
		return nil, err
	}
	defer alone()
	unlock, err := ipc.Lock(ctx, p.Session.Host.Files(), ledger.LockFile, p.Session.Progress.OnLock())
	if err != nil {
		return nil, err
	}
	defer unlock() // released when nothing is left that another pass could use
	out, err := p.Session.Holding(ctx, func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		confDir, binDirs := model.CNIDirs(&config.Node{}, h.Live.Facts)
		left := traffic.RemoveStale(ctx, h, confDir, binDirs) // pods of a killed proof: the plan would wait for them
		r, err := p.plan(ctx, h.Live.View(), led)
		if err != nil {
			return nil, err
		}
		if left != nil && !errors.Is(left, host.ErrNoLiveState) { // an image has no pods of a proof
			r.note("warning", left.Error())
		}
		if p.OnPlan != nil {
			p.OnPlan(r.report(report.Planned))
		}
		if err := checkpoint.EndWatch(ctx, h); err != nil { // the watch would undo the reset
			return nil, err
		}
		g, guarded, err := p.takeCheckpoint(ctx, h, r)
		if err != nil {
			return nil, err
		}
		// Where there is no ledger, Intend makes none: so a second reset changes nothing.
		if _, err := r.ownership.Intend(ctx, h, changes.NewSet(), len(led.Entries()) > 0); err != nil {
			return nil, fmt.Errorf("reset: nothing was changed: %w", errors.Join(err, g.Finish(guarded, nil)))
		}
		return r.do(ctx, guarded, g, p, h)
	})
	if err != nil || out.Summary.Waiting > 0 {
		return out, err
	}
	out.AwaitingBoot = nil // forget removes the record, too
	return out, p.forget(ctx)
}

// Plan returns what Run would do.
func (p Reset) Plan(ctx context.Context) (*report.Plan, error) {
	led, view, err := p.Session.Look(ctx)
	if err != nil {
		return nil, err
	}
	defer view.Close() // it is only read
	if _, err := p.Session.PendingUndo(view.Files); err != nil {
		return nil, err
	}
	r, err := p.plan(ctx, view.View(), led)
	if err != nil {
		return nil, err
	}
	return r.report(report.Planned), nil
}

// resetting is the state of one reset.
type resetting struct {
	desired     *desired.State // the configuration that the node has
	led         *ledger.Ledger
	ownership   *ownership.Transaction
	pruning     *ownership.Removals
	risky, rest phase
}

func (r *resetting) note(level, text string) {
	r.pruning.Notes = append(r.pruning.Notes, report.Note{Level: level, Text: text})
}

// plan decides about all entries of the ledger. It changes nothing.
func (p Reset) plan(ctx context.Context, v host.View, led *ledger.Ledger) (*resetting, error) {
	if led.Unreadable {
		return nil, errors.New("reset: the ledger can be read by root only: run it as root")
	}
	if err := execute.AckDone(ctx, v, led); err != nil {
		return nil, err
	}
	c := &ownership.Transaction{Led: led, Set: &desired.Records{}, Changed: p.policy()}
	last, err := ledger.ReadRevision(v.Files, led.Head().Current)
	if err != nil { // no revision, or a damaged one: the entries are enough
		last = &ledger.Revision{Node: v.Facts.Hostname}
	}
	r := &resetting{
		desired: &desired.State{
			Node: &config.Node{Cluster: last.Cluster, Name: last.Node, NodeGroup: last.NodeGroup},
			Snapshot: &statestore.Snapshot{Origin: last.Store,
				Revision: statestore.Revision{Generation: last.Generation, Digest: last.Digest}},
			Pinned: &desired.Pinned{Network: last.Network},
		},
		led: led, ownership: c, pruning: &ownership.Removals{},
	}
	var gone []tasks.Removal
	var back []tasks.Restoration
	for _, key := range slices.Sorted(maps.Keys(led.Entries())) {
		if name := key.Name(); key.Kind() == tasks.KindFile &&
			(name == ledger.Dir || strings.HasPrefix(name, ledger.Dir+"/")) {
			continue // forget removes it last, as a whole
		}
		if err := r.decide(ctx, v, led.Entries()[key], &gone, &back); err != nil {
			return nil, err
		}
	}
	r.pruning.Order(c, v, gone)
	if r.risky, err = planPhase(ctx, v, led, pick(gone, back, true), nil, tasks.ProofNone); err != nil {
		return nil, err
	}
	// A killed reset may have left pending effects. They run after the restorations.
	r.rest, err = planPhase(ctx, v, led, pick(gone, back, false), c.PendingEffects(), tasks.ProofBefore)
	return r, err
}

// times restores the mtimes of directories that the agent wrote to, except those of the ledger,
// which change once more. On a read-only file system nothing was written, and an error there would
// keep the reset from ending.
func (r *resetting) times(h *host.Host) error {
	for dir, mtime := range r.led.Dirs() {
		if _, err := h.Live.Files.Lstat(dir); err == nil && dir != path.Dir(ledger.Dir) {
			if err := h.Files.SetMtime(dir, mtime); err != nil && !errors.Is(err, syscall.EROFS) {
				return err
			}
		}
	}
	return nil
}

// forget removes the ledger and its lock, last of all. It holds the lock meanwhile: another process
// that waits for it then creates a new one. First it removes all entries but keeps the mtimes of
// directories, and it removes the journal file last. If it is killed at any point, the next reset
// does the rest.
func (p Reset) forget(ctx context.Context) error {
	h, err := host.Open(ctx, p.Session.Host)
	if err != nil {
		return fmt.Errorf("remove the ledger: %w", err)
	}
	defer h.Close() // every write was checked
	led := ledger.Load(h.Live.Files)
	times := led.Dirs()
	if len(led.Entries()) > 0 {
		if err := led.Commit(ctx, h.Files, ledger.Batch{Drop: slices.Sorted(maps.Keys(led.Entries()))}); err != nil {
			return fmt.Errorf("empty the ledger: %w", err)
		}
	}
	for _, dir := range []string{ledger.Dir, path.Dir(ledger.LockFile)} {
		if err := h.Files.RemoveTree(ctx, dir, ledger.JournalFile); err != nil {
			return fmt.Errorf("remove the ledger: %w", err)
		}
	}
	above := path.Dir(ledger.Dir)
	if mtime, known := times[above]; known {
		return h.Files.SetMtime(above, mtime)
	}
	return nil
}

// policy returns the policy of a reset: only the ledger and the user decide.
func (p Reset) policy() ownership.Policy {
	if p.RemoveChanged {
		return "--changed=remove"
	}
	return ""
}

// resettable returns the error that [refuseReset] would return under the lock, so that the daemon
// is not stopped in vain.
func (p Reset) resettable() error {
	files, err := host.OpenFiles(p.Session.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", p.Session.Host.Root, err)
	}
	defer files.Close() // it is only read
	return refuseReset(ledger.Load(files), files)
}

// refuseReset returns why a reset is impossible, with the keys that may be the agent's; nil: it is
// possible. It also decodes the entries, because only that detects some damage of the journal.
func refuseReset(led *ledger.Ledger, r ledger.Reader) error {
	if led.Newer != nil {
		return fmt.Errorf("reset: %w", led.Newer)
	}
	if led.Unreadable {
		return errors.New("reset: the ledger can be read by root only: run it as root")
	}
	if led.Entries(); !led.Lost {
		return nil
	}
	return fmt.Errorf("reset: %s. Nothing was removed or brought back. The revisions that are left name what may be "+
		"netwright's: %s. "+
		"Remove by hand what is not needed, then %s", strings.Join(led.Damage(), "; "), strings.Join(lastKeys(r), ", "),
		ledger.Dir)
}

// lastKeys returns the keys of the newest revision that can be read, one for each task.
func lastKeys(r ledger.Reader) []string {
	kept, _ := ledger.Revisions(r) // the readable ones are enough
	if len(kept) == 0 {
		return []string{"(none is left)"}
	}
	var out []string
	for _, rec := range kept[len(kept)-1].Tasks {
		t, err := ledger.Rebuild(r, rec)
		if err != nil {
			out = append(out, "a "+rec.Kind+" that "+rec.From+" asked for")
			continue
		}
		if key := t.Owns()[0]; tasks.IsState(key) {
			out = append(out, string(key))
		}
	}
	return out
}
