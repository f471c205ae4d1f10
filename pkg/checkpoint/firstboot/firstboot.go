package firstboot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs/head"
)

// Books is the ledger for this package. A call may be killed and repeated.
type Books interface {
	// Right returns the boot in which everything was right last; "" if it never was.
	Right() string
	// Forget restores what the ledger said of keys before they awaited a boot. The keys are
	// restored on the host, and must not be changed again in the same way before Note records the
	// result.
	Forget(ctx context.Context, h *host.Host, keys []Await, found Boot) error
	// Note records the result of a boot.
	Note(ctx context.Context, h *host.Host, found Boot) error
}

// Boot is the result of the first boot with changed files.
type Boot struct {
	ID         string // of the first boot that was judged
	Generation int64  // of the last change
	Digest     string
	Names      []string // the files and units that awaited the boot
	Outcome    Outcome
	Why        string // what was wrong; "" for a good boot
}

// Outcome says how a boot with changed files ended.
type Outcome string

// The outcomes.
const (
	Confirmed Outcome = "confirmed" // others reach the node as before
	Restored  Outcome = "restored"  // the former state was restored, and whether this helps is not known yet
	Bad       Outcome = "bad"       // others reach the node with the former state, and did not with the new one
	Unsure    Outcome = "unsure"    // others do not reach the node with the former state either
)

// bootWindows is how many windows a boot may take until others reach the node as before, and again
// after the files are restored. Link managers wait for leases, and switches for their own
// protocols.
const bootWindows = 3

// rebootLimit is how long the process waits for the end of the boot after it requested a reboot.
const rebootLimit = 5 * time.Minute

// Pending reports whether something awaited this boot and is not judged yet. It returns an error if
// the record cannot be read.
func Pending(r head.Reader) (bool, error) {
	// It reads only the start of the record, because each repair of one key calls it first.
	a, err := read(func(a *Awaiting) error {
		if err := head.Read(r, awaitingFile, "since", "}", a); err != nil || a.Version != 0 {
			return err
		}
		return head.ReadAll(r, awaitingFile, a) // another program wrote it, with another order of fields
	})
	return a != nil && host.IsOtherBoot(r, a.Boot), err
}

// Examiner judges the first boot with changed files.
type Examiner struct {
	Node   probe.Prober
	Books  Books
	Reboot func(context.Context) error
	Log    *zap.Logger
}

// FirstBoot judges what awaited this boot, if [Pending]. If others reach the node as before, the
// changes are confirmed. The store and the API server do not count. Otherwise FirstBoot restores
// the former state, and the link managers act on it. If that does not help, and the documents allow
// it, it reboots the machine once. It may be killed at any point and called again. The caller holds
// the lock, and makes no pass before FirstBoot returns. After it has requested a reboot it does not
// return before the process ends.
func (j Examiner) FirstBoot(ctx context.Context) error {
	h := j.Node.Host
	a, err := Read(h.Live.Files)
	if a == nil || err != nil {
		return err
	}
	if a.passedOver(j.Books.Right()) {
		j.Log.Info("changed files awaited a boot, but an agent of an earlier release has run since: this "+
			"boot is not judged",
			zap.Strings("names", a.Names()))
		return a.drop(ctx, h)
	}
	if host.IsOtherMachine(h.Live.Files, a.Machine) {
		j.Log.Info("changed files awaited a boot of another machine, whose disk this one has: this boot is "+
			"not judged",
			zap.Strings("names", a.Names()))
		return a.drop(ctx, h)
	}
	now, err := host.BootID(h.Live.Files)
	if err != nil {
		return err
	}
	if a.Judged == "" {
		// What was undone or restored by hand does not count: the boot did not use it.
		if err := a.update(ctx, h); err != nil || len(a.Names()) == 0 {
			return err
		}
		amiss, err := j.look(ctx, a)
		if err != nil {
			return err
		}
		a.Judged = now
		if len(amiss) == 0 {
			return j.end(ctx, a, Confirmed)
		}
		a.Why = amiss.String()
		j.Log.Error("probes fail in the first boot with changed files: the agent restores the files",
			zap.Strings("names", a.Names()), zap.String("why", a.Why))
	}
	if a.Restored != now && !a.isBack(ctx, h) { // also if a boot ended during the restore
		a.Restored = now
		if err := a.save(ctx, h); err != nil {
			return err
		}
	}
	if err := j.restore(ctx, a); err != nil {
		return err
	}
	amiss, err := j.look(ctx, a)
	switch {
	case err != nil:
		return err
	case len(amiss) == 0:
		return j.end(ctx, a, Bad)
	case a.mayReboot(now):
		if err := j.reboot(ctx, a); !errors.Is(err, host.ErrNoLiveState) {
			return err
		}
	}
	return j.end(ctx, a, Unsure)
}

// mayReboot reports whether another boot may help. It may if this boot did not start with all of it
// restored, and if no reboot was requested before, or one was requested in this boot and did not
// come.
func (a *Awaiting) mayReboot(now string) bool {
	return a.Reboot && a.Restored == now && (a.Rebooted == "" || a.Rebooted == now)
}

// reboot ends this boot. It records that before, so that the next boot is not ended, whatever
// changes the files meanwhile.
func (j Examiner) reboot(ctx context.Context, a *Awaiting) error {
	j.Log.Error("the restored files act only at a boot: the agent reboots the machine")
	a.Rebooted = a.Restored
	err := a.save(ctx, j.Node.Host)
	if err == nil {
		err = j.Reboot(ctx)
	}
	if err != nil {
		return err
	}
	if !host.Sleep(ctx, rebootLimit) {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the agent asked for a reboot, and the machine did not reboot within %s", rebootLimit)
}

// passedOver reports whether everything was right in a boot after the boot of the change, although
// the record is still there. Then an agent of an earlier release ran in that boot, because it knows
// no record and a newer agent would have judged it. The node has run with the files since, and the
// recorded reach is out of date.
func (a *Awaiting) passedOver(right string) bool {
	return right != "" && right != a.Right && right != a.Boot
}

// look waits until others reach the node as before, and returns what is still wrong when the time
// is over.
func (j Examiner) look(ctx context.Context, a *Awaiting) (probe.Failures, error) {
	amiss := a.Reach.AwaitReach(ctx, j.Node, bootWindows*a.Window)
	return amiss, context.Cause(ctx) // the process is to end, so the result counts for nothing
}

// found returns the result of the boot.
func (a *Awaiting) found(outcome Outcome) Boot {
	return Boot{
		ID: a.Judged, Generation: a.Generation, Digest: a.Digest, Names: a.Names(),
		Outcome: outcome, Why: a.Why,
	}
}

// end records the result of the boot, and then removes the record. If a good boot cannot be
// recorded, the next pass judges it again, so that nothing waits for space on the disk.
func (j Examiner) end(ctx context.Context, a *Awaiting, o Outcome) error {
	h := j.Node.Host
	found := a.found(o)
	j.Log.Info("the first boot with changed files is judged",
		zap.String("outcome", string(o)), zap.Strings("names", found.Names), zap.String("why", a.Why))
	err := j.Books.Note(ctx, h, found)
	if err == nil {
		err = a.drop(ctx, h)
	}
	if err != nil && o == Confirmed {
		j.Log.Warn("the verdict on the first boot with changed files cannot be written: the next pass judges "+
			"it again",
			zap.Error(err))
		return nil
	}
	return err
}

// restore restores everything that awaited the boot. In the boot that failed it makes the link
// managers act on it, even if a part could not be restored. It may be called again.
func (j Examiner) restore(ctx context.Context, a *Awaiting) error {
	h := j.Node.Host
	files, err := a.originals(h)
	back := undo.Restore(h, &undo.Log{Files: files, Units: a.Units}, true)
	err = errors.Join(err, back.Files(ctx), back.Units(ctx))
	for _, text := range back.Left {
		j.Log.Warn("it is not brought back", zap.String("why", text))
	}
	if err == nil {
		err = j.Books.Forget(ctx, h, a.Keys, a.found(Restored))
	}
	if !host.IsOtherBoot(h.Live.Files, a.Restored) {
		if err := a.act(ctx, j.Node); err != nil { // look sees whether it helped
			j.Log.Warn("the files are restored, but not every program that reads them has loaded them", zap.Error(err))
		}
	}
	if err != nil {
		return fmt.Errorf("restore the files with which a boot failed: some are not restored, and the agent "+
			"tries again; if it fails each time, restore them by hand and remove %s: %w", awaitingFile, err)
	}
	return nil
}

// act restores the sysctls of the network, which files set at boot, and makes the link managers act
// on the restored files. It restarts each manager that runs, because some files are read only at
// the start, its own unit may be among the files, and nothing that it has set since needs to stay.
// It starts a manager that had a link before, or that failed at this boot. Then it tells the
// managers to set up the links that are not done. Before that it removes the addresses that were
// set at this boot, which would otherwise stay.
func (a *Awaiting) act(ctx context.Context, n probe.Prober) error {
	h := n.Host
	ctx, cancel := context.WithTimeoutCause(ctx, bootWindows*a.Window, probe.ErrNoAnswer)
	defer cancel()
	a.Around.RestoreSysctls(ctx, h) // look sees whether it helped
	errs := []error{h.Units.DaemonReload(ctx), a.Reach.ClearAddresses(ctx, h)}
	for _, manager := range append(host.LinkManagers(), ifupdown) {
		unit := manager + ".service"
		errs = append(errs, h.Units.RestartUnit(ctx, unit, true))
		if now, err := h.Live.Units.Unit(ctx, unit); a.Reach.HadLink(manager) || err == nil && now.Active == "failed" {
			errs = append(errs, h.Units.StartUnit(ctx, unit, true))
		}
	}
	errs = slices.DeleteFunc(errs, func(err error) bool {
		return errors.Is(err, host.ErrNotExist) || errors.Is(err, host.ErrNoLiveState)
	})
	n.SetUp(ctx, a.Reach.Managed, a.Window)
	return errors.Join(errs...)
}

// ifupdown is the unit that sets up links from /etc/network/interfaces when it starts. After that
// no process manages these links.
const ifupdown = "networking"
