package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/systemd"
)

// The time limits in probe windows: for the change, from its first task that may cut the node off,
// and for the timer. The timer runs longer, because the agent itself probes, undoes and probes
// again before it.
const (
	changeWindows = 4
	timerWindows  = changeWindows + 3
)

// Limit returns how long the change may take after the checkpoint is armed.
func (c *Checkpoint) Limit() time.Duration { return changeWindows * c.journal.Window }

// abandon removes everything of a checkpoint without a journal, except what a watch needs.
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

// RefusedError is the error for a change that is not made, because it could not be undone.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("take a checkpoint before a change that may cut the node off; the change is not made: %v", e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

// Kind implements [problem.KindOf].
func (e *RefusedError) Kind() problem.ID { return problem.ChangeRefused }

// Arm makes the probes, writes the journal and the copy of this program, and sets a timer and a
// unit of the next boot to run the undo. After an error nothing is armed, and the caller must not
// change anything. Without systemd only this process can undo.
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

// mayArm refuses a change while the node seems to lose its network by an earlier change that is
// watched. That change must be undone first. A target that does not answer now would also not be
// missed after the new change.
func (c *Checkpoint) mayArm(ctx context.Context) error {
	if c.journal.WatchUS == 0 {
		return nil
	}
	w, err := watchHead(c.host.Live.Files)
	if w == nil || w.over(c.host.Live.Files) {
		return err
	}
	if failed := w.lost(ctx, c.compared.Node); len(failed) > 0 {
		return fmt.Errorf("%s started or stopped a hook, and since then these probes fail: %s. The agent "+
			"undoes the change if they go on failing; until then it changes "+
			"nothing", w.Journal.name(), failed)
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
	// The journal is written after all that it needs, so that the undo can run as soon as the
	// journal exists. This program is copied while the probes wait for answers.
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
		var older error // an old systemd: only the timer undoes
		if c.made, older = h.Units.StartWhenGone(ctx, TimerName, "Netwright: undo a change whose process is gone",
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

// reserveRoom writes two files: one as large as the files that an undo writes, one as large as its
// verdict and the ledger. It writes random bytes, because a file system with compression would
// store zeros in no space.
func (j *Journal) reserveRoom(ctx context.Context, h *host.Host) error {
	const block, some = 4 << 10, 64 << 10
	files, verdict := some, 4*some+2*len(j.Before)
	for _, f := range j.Files {
		files += len(f.Content) + 2*block
	}
	for file, size := range map[string]int{filesReserve: files, verdictReserve: verdict} {
		if err := fill(ctx, h, file, int64(size)); err != nil {
			return fmt.Errorf("reserve disk space for an undo: %w", err)
		}
	}
	return nil
}

// fill writes a file of random bytes. It writes the bytes in parts, because the room for ten
// thousand files is 80 MB.
func fill(ctx context.Context, h *host.Host, file string, size int64) error {
	b := h.Files.Batch()
	defer b.Discard()
	to, err := b.Create(file, hostfs.FileSpec{Mode: 0o600})
	if err != nil {
		return err
	}
	if _, err := io.CopyN(to, rand.Reader, size); err != nil {
		return err
	}
	return errors.Join(to.Close(), b.Commit(ctx))
}

// notArmed removes everything of a checkpoint that could not be armed.
func (c *Checkpoint) notArmed(ctx context.Context, why error) error {
	defer c.closeMaker()
	return errors.Join(why, c.host.Files.RemoveDurably(JournalFile), c.abandon(ctx), firstboot.Trim(ctx, c.host))
}

// closeMaker ends the supervision of this process: from then on its end does not start the undo.
// The caller has stopped the timer before.
func (c *Checkpoint) closeMaker() {
	if c.made != nil {
		_ = c.made.Close() // nothing was written
	}
}

// awaiting returns the record of the parts of the change that act at the next boot, or nil.
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

// Warnings returns what is wrong after a change that [Checkpoint.Finish] kept, one line each.
func (c *Checkpoint) Warnings() []string { return c.warnings }

// Proof returns the proof of the change, for its revision.
func (c *Checkpoint) Proof() *probe.Proof { return c.journal.Proof() }

// disarm removes the checkpoint. First it removes the journal durably, without which an undo does
// nothing, and then the timer and the unit of the next boot.
func (j *Journal) disarm(ctx context.Context, h *host.Host) error {
	if err := h.Files.RemoveDurably(JournalFile); err != nil {
		return fmt.Errorf("end the checkpoint: %w", err)
	}
	return j.dismantle(ctx, h)
}

// dismantle removes everything of a checkpoint whose journal is gone. If it is killed, the next
// pass does it: see [removeStale].
func (s scaffold) dismantle(ctx context.Context, h *host.Host) error {
	h.Files.RemoveStale(append([]string{Dir}, Around...))
	var stop errgroup.Group // systemd needs several milliseconds for each
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

// removeStale removes what a run left that was killed before its journal existed or after it was
// gone. If there is nothing to remove, it takes no lock, which another process may hold to arm or
// disarm.
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
		return jerr // another process was faster
	}
	if err != nil {
		return fmt.Errorf("read what an earlier checkpoint left: %w", err)
	}
	var s scaffold
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read %s: %w: remove it, and remove %s unless a package installed it", scaffoldFile, err, bootUnitFile)
	}
	if err := firstboot.Trim(ctx, h); err != nil { // of a change that was never begun
		return err
	}
	return s.dismantle(ctx, h)
}
