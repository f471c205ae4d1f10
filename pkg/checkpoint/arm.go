package checkpoint

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/systemd"
)

// How many windows each part may take: the change, once it began to be able to cut the node off;
// and the timer on top, in which the agent itself probes, undoes and probes again.
const (
	changeWindows = 4
	timerWindows  = changeWindows + 3
)

// Limit is how long the change may take once the checkpoint is armed.
func (c *Checkpoint) Limit() time.Duration { return changeWindows * c.journal.Window }

// Take keeps in memory how everything is that a change names. It writes nothing, but that large
// files get another name; [Checkpoint.Drop] takes it away. Where an earlier change is watched, this
// one is watched for what is left of that time.
func Take(ctx context.Context, h *host.Host, change Change, s Settings) (*Checkpoint, error) {
	s.Window = cmp.Or(s.Window, agentfile.DefaultProbeWindow)
	j := &Journal{Version: journalVersion, Boot: host.BootID(h.Live.Files),
		Machine: host.MachineID(h.Live.Files), Process: host.Self(), Taken: host.Uptime(),
		Generation: change.Generation, Digest: change.Digest, Window: s.Window, Before: change.Before}
	w, err := watchHead(h.Live.Files)
	if err != nil {
		return nil, &RefusedError{err}
	}
	if w == nil || w.over(h.Live.Files) || change.Digest == "" {
		if err := EndWatch(ctx, h); err != nil {
			return nil, &RefusedError{err}
		}
	} else {
		j.WatchUS, j.Copies = w.UntilUS, remains(h.Live.Files).Copies
	}
	c := &Checkpoint{host: h, settings: s, journal: j, change: change, watched: len(j.Copies)}
	if err := c.capture(ctx); err != nil {
		return nil, &RefusedError{err}
	}
	c.compared = j.compare(h, s)
	c.compared.OwnPods, c.compared.Pods, c.compared.Named = change.OwnPods, change.Pods, routesOf(change)
	return c, nil
}

// capture writes down how everything is, and keeps large files. The next pass takes away what is
// there of them after an error.
func (c *Checkpoint) capture(ctx context.Context) (err error) {
	h, j := c.host, c.journal
	of := undo.Capture{Host: h, Log: &j.Log, Dir: Dir, Copies: j.Copies, Twin: firstboot.LargeName,
		Own: c.change.OwnLinks}
	// what an earlier change that is watched did is taken back, too
	if c.programs, err = of.Take(ctx, c.change.Keys, c.change.Tasks, j.WatchUS > 0); err != nil {
		return err
	}
	j.Copies = of.Copies
	j.Window = max(j.Window, j.naming()) // also for the timer, and for who looks after the undo
	if _, err := j.encode(); err != nil || len(j.Copies) == 0 {
		return err
	}
	if err := h.Files.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return err
	}
	if err := undo.Save(ctx, h, scaffoldFile, j.scaffold); err != nil {
		return err
	}
	return of.SaveFiles(ctx)
}

// routesOf are the destinations of the routes that a change names.
func routesOf(change Change) (named []netip.Prefix) {
	for _, t := range change.Tasks {
		if r, is := t.(tasks.Route); is {
			named = append(named, r.Canonical().Dst)
		}
	}
	return named
}

// Drop ends a checkpoint that was never armed.
func (c *Checkpoint) Drop(ctx context.Context) error {
	if len(c.journal.Copies) == c.watched {
		return nil
	}
	return c.abandon(ctx)
}

// abandon takes away what stands of a checkpoint without a journal, but what a watch needs.
func (c *Checkpoint) abandon(ctx context.Context) error {
	s, h := &c.journal.scaffold, c.host
	if c.journal.WatchUS == 0 {
		return s.dismantle(ctx, h)
	}
	errs := []error{h.Units.StopTimer(ctx, TimerName), s.dropBootUnit(h)}
	for _, file := range s.Copies[c.watched:] {
		errs = append(errs, h.Files.Remove(file))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return undo.Save(ctx, h, scaffoldFile, scaffold{Copies: s.Copies[:c.watched]})
}

// RefusedError says that a change is not made, for it could not be taken back.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("take a checkpoint before a change that may cut the node off; the change is not made: %v", e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Kind implements [problem.KindOf].
func (e *RefusedError) Kind() problem.ID { return problem.ChangeRefused }

// Arm takes the probes, writes the journal and the copy of this binary,
// and has the undo run by a timer and by the next boot. On an error nothing
// is armed and nothing may be changed. Without systemd only this process undoes.
func (c *Checkpoint) Arm(ctx context.Context) error {
	err := c.mayArm(ctx)
	if err == nil {
		err = c.arm(ctx)
	}
	if err != nil {
		return &RefusedError{err}
	}
	return nil
}

// mayArm refuses while a change that is watched seems to cost the node its network: that is taken
// back first. What nobody answers now no probe would miss.
func (c *Checkpoint) mayArm(ctx context.Context) error {
	if c.journal.WatchUS == 0 {
		return nil
	}
	w, err := watchHead(c.host.Live.Files)
	if w == nil || w.over(c.host.Live.Files) {
		return err
	}
	if failed := w.lost(ctx, c.compared.Node); len(failed) > 0 {
		return fmt.Errorf("%s started or stopped a hook and is watched, and since then nobody answers: %s. "+
			"It is taken back if that lasts; nothing is changed meanwhile", w.Journal.name(), failed)
	}
	return nil
}

func (c *Checkpoint) arm(ctx context.Context) error {
	h, j, s := c.host, c.journal, c.settings
	if err := h.Files.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return err
	}
	j.missing(h)
	if err := undo.Save(ctx, h, scaffoldFile, j.scaffold); err != nil {
		return err
	}
	// The journal comes after all that it needs: where it is, the undo can run. Who answers is
	// waited for while this program is copied.
	copying := make(chan error, 1)
	go func() { copying <- errors.Join(copySelf(ctx, h), j.reserveRoom(ctx, h)) }()
	err := c.compared.Before(ctx, s.Probes, s.Store)
	if err = errors.Join(err, <-copying); err != nil {
		return c.notArmed(ctx, err)
	}
	err = j.wantBootUnit(ctx, h)
	if err == nil {
		err = firstboot.Save(ctx, h, c.awaiting(), &j.Log)
	}
	if err == nil {
		err = j.write(ctx, h)
	}
	if err == nil {
		c.program, err = rehearse(ctx, h)
	}
	if err == nil {
		err = h.Units.StartTimer(ctx, TimerName, "Netwright: undo a change that was not confirmed", systemd.Undo,
			timerWindows*j.Window, JournalFile, c.program, "undo")
	}
	if err == nil {
		var older error // systemd is: the timer alone undoes
		if c.made, older = h.Units.StartWhenGone(ctx, TimerName, "Netwright: undo a change whose maker is gone",
			makerFile); older != nil {
			s.log().Debug("if this process is killed the timer undoes", zap.Error(older))
		}
	}
	if err == nil || errors.Is(err, host.ErrNoLiveState) {
		err = endWatch(ctx, h)
	}
	if err != nil {
		return c.notArmed(ctx, err)
	}
	s.log().Info("checkpoint taken", zap.Any("probes", j.Proof().Probes), zap.Duration("window", j.Window),
		zap.Int64("generation", j.Generation))
	return nil
}

// reserveRoom fills two files: one with as much as the files that an undo writes, one with as much
// as its verdict and the ledger. Zeros would take no room where a file system packs them.
func (j *Journal) reserveRoom(ctx context.Context, h *host.Host) error {
	const block, some = 4 << 10, 64 << 10
	files, verdict := some, 4*some+2*len(j.Before)
	for _, f := range j.Files {
		files += len(f.Content) + 2*block
	}
	for file, size := range map[string]int{filesReserve: files, verdictReserve: verdict} {
		room := make([]byte, size)
		_, _ = rand.Read(room) // it never fails
		if err := h.Files.WriteFile(ctx, file, room, hostfs.FileSpec{Mode: 0o600}); err != nil {
			return fmt.Errorf("reserve room for an undo: %w", err)
		}
	}
	return nil
}

// notArmed takes away what there is of a checkpoint that could not be armed.
func (c *Checkpoint) notArmed(ctx context.Context, why error) error {
	defer c.closeMaker()
	return errors.Join(why, c.host.Files.RemoveDurably(JournalFile), c.abandon(ctx), firstboot.Trim(ctx, c.host))
}

// closeMaker ends the time in which the change is undone if this process is gone. The timer is
// stopped by then.
func (c *Checkpoint) closeMaker() {
	if c.made != nil {
		_ = c.made.Close() // nothing was written
	}
}

// awaiting is a record of what of the change acts at the next boot, nil of nothing.
func (c *Checkpoint) awaiting() *firstboot.Awaiting {
	if len(c.change.AtBoot) == 0 {
		return nil
	}
	j := c.journal
	return &firstboot.Awaiting{
		Boot: j.Boot, Machine: host.MachineID(c.host.Live.Files), Since: time.Now().UTC().Truncate(time.Second),
		Generation: j.Generation, Digest: j.Digest, Window: j.Window, Reboot: c.change.Reboot, Right: c.change.Right,
		Keys: c.change.AtBoot,
	}
}

// Warnings are what is amiss with a change that [Checkpoint.Finish] let stay, one line each.
func (c *Checkpoint) Warnings() []string { return c.warnings }

// Proof is that of the change. A revision keeps it.
func (c *Checkpoint) Proof() *probe.Proof { return c.journal.Proof() }

// disarm takes everything away: first, durably, the journal, without which an
// undo does nothing; then the timer, and what was left for the next boot.
func (j *Journal) disarm(ctx context.Context, h *host.Host) error {
	if err := h.Files.RemoveDurably(JournalFile); err != nil {
		return fmt.Errorf("end the checkpoint: %w", err)
	}
	return j.dismantle(ctx, h)
}

// dismantle takes away what stands around a journal that is gone. Killed
// anywhere, it is done by the next pass: see [removeStale].
func (s scaffold) dismantle(ctx context.Context, h *host.Host) error {
	h.Files.RemoveStale(append([]string{Dir}, Around...))
	var stop errgroup.Group // systemd takes several milliseconds for each
	for _, timer := range []string{TimerName, unconfirmedTimer, watchName} {
		stop.Go(func() error { return h.Units.StopTimer(ctx, timer) })
	}
	errs := []error{h.Files.Remove(WatchFile), s.dropBootUnit(h), stop.Wait(), h.Files.Remove(makerFile),
		h.Files.Remove(filesReserve), h.Files.Remove(verdictReserve)}
	if !s.cachesCopy {
		errs = append(errs, h.Files.Remove(binaryFile))
	}
	for _, file := range s.Copies {
		errs = append(errs, h.Files.Remove(file))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return h.Files.Remove(scaffoldFile)
}

// removeStale takes away what a run left that was killed before its journal was there, or after it
// was gone. Without anything to do it takes no lock: whoever arms or disarms just now has it.
func removeStale(ctx context.Context, h *host.Host, lock func(context.Context) (func(), error)) error {
	if _, err := h.Live.Files.Lstat(scaffoldFile); errors.Is(err, host.ErrNotExist) {
		return nil
	}
	if w, err := watchHead(h.Live.Files); err != nil || w != nil && !w.over(h.Live.Files) {
		return err
	}
	if lock != nil {
		unlock, err := lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
	}
	data, err := h.Live.Files.ReadFile(scaffoldFile)
	if j, jerr := Pending(h.Live.Files); errors.Is(err, host.ErrNotExist) || j != nil || jerr != nil {
		return jerr // another was quicker
	}
	if err != nil {
		return fmt.Errorf("read what an earlier checkpoint left: %w", err)
	}
	var s scaffold
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read %s: %w: remove it, and %s if no package brought that", scaffoldFile, err, bootUnitFile)
	}
	if err := firstboot.Trim(ctx, h); err != nil { // of a change that never began
		return err
	}
	return s.dismantle(ctx, h)
}
