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

// Books are what the agent knows besides the host. A call may be killed and made again.
type Books interface {
	// Right is the boot in which all was right last, "" before it ever was.
	Right() string
	// Forget says again what was known of keys before they awaited a boot: they are brought back,
	// and are not to be changed to the same again before Note says what is known.
	Forget(ctx context.Context, h *host.Host, keys []Await, found Boot) error
	// Note saves what a boot has shown.
	Note(ctx context.Context, h *host.Host, found Boot) error
}

// Boot is what the first boot with changed files has shown.
type Boot struct {
	ID         string // of the first boot that they were judged in
	Generation int64  // of the last change
	Digest     string
	Names      []string // what awaited it
	Outcome    Outcome
	Why        string // what was amiss; "" of a boot that was well
}

// Outcome is what a boot has shown of what awaited it.
type Outcome string

// The outcomes.
const (
	Confirmed Outcome = "confirmed" // the node is reached as before
	Restored  Outcome = "restored"  // it was brought back, and it is not known yet what that helps
	Bad       Outcome = "bad"       // the node is reached without it, and was not with it
	Unsure    Outcome = "unsure"    // it is not reached without it either
)

// bootWindows is how many windows a boot may take until the node is reached as before, and again
// when the files are back: link managers wait for leases, and switches for their own protocols.
const bootWindows = 3

// rebootLimit is how long the end is waited for of a boot that is over.
const rebootLimit = 5 * time.Minute

// Pending says that something awaited this boot and is not judged yet. The error is that of a
// record that cannot be read.
func Pending(r head.Reader) (bool, error) {
	// Of the record it reads the head alone: whoever repairs one key asks this first.
	a, err := read(func(a *Awaiting) error {
		if err := head.Read(r, awaitingFile, "since", "}", a); err != nil || a.Version != 0 {
			return err
		}
		return head.ReadAll(r, awaitingFile, a) // somebody else wrote it, in another order
	})
	return a != nil && a.Boot != host.BootID(r), err
}

// Examiner is who judges a first boot with changed files.
type Examiner struct {
	Node   probe.Prober
	Books  Books
	Reboot func(context.Context) error
	Log    *zap.Logger
}

// FirstBoot judges what awaited this boot, if [Pending]. If the node is reached as before, it is
// confirmed: an absent store or API is no evidence. Else all of it is brought back, the links'
// managers act on it, and where that does not help and the documents say so, the machine
// boots once more. It may be killed at any point and called again. The caller has the lock, and
// makes no pass before it returns: it does not return before a boot that it asked for ends the
// process.
func (j Examiner) FirstBoot(ctx context.Context) error {
	h := j.Node.Host
	a, err := Read(h.Live.Files)
	if a == nil || err != nil {
		return err
	}
	if a.passedOver(j.Books.Right()) {
		j.Log.Info("changed files awaited a boot, and an agent of an earlier release was there since: nothing is "+
			"judged",
			zap.Strings("names", a.Names()))
		return a.drop(ctx, h)
	}
	if host.IsOtherMachine(h.Live.Files, a.Machine) {
		j.Log.Info("changed files awaited a boot of another machine, whose disk this one has: nothing is judged",
			zap.Strings("names", a.Names()))
		return a.drop(ctx, h)
	}
	now := host.BootID(h.Live.Files)
	if a.Judged == "" {
		// What was undone, or brought back by hand, is not what the boot had.
		if err := a.update(ctx, h); err != nil || len(a.Names()) == 0 {
			return err
		}
		amiss, err := j.look(ctx, a)
		if err != nil {
			return err
		}
		if len(amiss) == 0 {
			return j.end(ctx, a, Confirmed)
		}
		a.Judged, a.Why = now, amiss.String()
		j.Log.Error("the first boot with changed files is not well: they are brought back",
			zap.Strings("names", a.Names()), zap.String("why", a.Why))
	}
	if a.Restored != now && !a.isBack(ctx, h) { // also where a boot ended in the middle of it
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

// mayReboot says that another boot may help: this one had not all of it back from its beginning,
// and no boot was ended for it, but for this one, whose end somebody kept from coming.
func (a *Awaiting) mayReboot(now string) bool {
	return a.Reboot && a.Restored == now && (a.Rebooted == "" || a.Rebooted == now)
}

// reboot ends this boot. That is written down before: whatever changes the files again meanwhile,
// the next one is not ended.
func (j Examiner) reboot(ctx context.Context, a *Awaiting) error {
	j.Log.Error("the files that came back do not help without a boot: the machine boots once more")
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
	return fmt.Errorf("a reboot was asked for, and did not come within %s", rebootLimit)
}

// passedOver says that all was right in a boot after that of the change, maybe in this one, and
// that the record stands still. So the agent of that boot, one of an earlier release, knew no
// record: this one judges before it makes anything right. The node went on with the files, and how
// it was reached before them is of long ago.
func (a *Awaiting) passedOver(right string) bool {
	return right != "" && right != a.Right && right != a.Boot
}

// look waits until the node is reached as before, and says what is still amiss when time is over.
func (j Examiner) look(ctx context.Context, a *Awaiting) (probe.Failures, error) {
	amiss := a.Reach.AwaitReach(ctx, j.Node, bootWindows*a.Window)
	return amiss, context.Cause(ctx) // it is to end, and knows nothing
}

// found is what the boot has shown.
func (a *Awaiting) found(h *host.Host, outcome Outcome) Boot {
	b := Boot{
		ID: a.Judged, Generation: a.Generation, Digest: a.Digest, Names: a.Names(),
		Outcome: outcome, Why: a.Why,
	}
	if b.ID == "" {
		b.ID = host.BootID(h.Live.Files)
	}
	return b
}

// end has it saved what the boot has shown, and then ends the record. A boot that was well and
// cannot be noted is judged again by the next pass: nothing waits for room on a disk.
func (j Examiner) end(ctx context.Context, a *Awaiting, o Outcome) error {
	h := j.Node.Host
	found := a.found(h, o)
	j.Log.Info("the first boot with changed files is judged",
		zap.String("outcome", string(o)), zap.Strings("names", found.Names), zap.String("why", a.Why))
	err := j.Books.Note(ctx, h, found)
	if err == nil {
		err = a.drop(ctx, h)
	}
	if err != nil && o == Confirmed {
		j.Log.Warn("that a boot with changed files was well cannot be noted: the next pass judges it again",
			zap.Error(err))
		return nil
	}
	return err
}

// restore brings back all that awaited the boot, where it is not back, and makes the links'
// managers act on it in the boot that had it, also where a part of it does not come back. It may be
// called again.
func (j Examiner) restore(ctx context.Context, a *Awaiting) error {
	h := j.Node.Host
	files, err := a.originals(h)
	back := undo.Restore(h, &undo.Log{Files: files, Units: a.Units}, true)
	err = errors.Join(err, back.Files(ctx), back.Units(ctx))
	for _, text := range back.Left {
		j.Log.Warn("it is not brought back", zap.String("why", text))
	}
	if err == nil {
		err = j.Books.Forget(ctx, h, a.Keys, a.found(h, Restored))
	}
	if a.Restored == host.BootID(h.Live.Files) {
		if err := a.act(ctx, j.Node); err != nil { // what it helps is seen by who looks
			j.Log.Warn("the files came back, and not all that reads them acts on it", zap.Error(err))
		}
	}
	if err != nil {
		return fmt.Errorf("bring back what a boot failed with: some of it is left, and is tried again; "+
			"where it never will be, mend it by hand and remove %s: %w", awaitingFile, err)
	}
	return nil
}

// act brings the sysctls of the network back, which files set at the boot, and has the links'
// managers act on the files that came back. One that runs begins anew: nothing that it has set is
// worth keeping, some files it reads at its start only, and its own unit may have been among them.
// One that had a link, or that the boot could not start, is started. What it is still not done with
// then, it is told to set up. An address that it set at the boot goes before: it would stay.
func (a *Awaiting) act(ctx context.Context, n probe.Prober) error {
	h := n.Host
	ctx, cancel := context.WithTimeoutCause(ctx, bootWindows*a.Window, probe.ErrNoAnswer)
	defer cancel()
	a.Around.RestoreSysctls(ctx, h) // what is left is seen by who looks
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

// ifupdown is the unit that sets links up by /etc/network/interfaces as it starts. No process of it
// manages them then.
const ifupdown = "networking"
