package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
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
