package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
)

// notArmed removes everything of a checkpoint that could not be armed.
func (c *Checkpoint) notArmed(ctx context.Context, why error) error {
	defer c.closeMaker()
	return errors.Join(why, c.host.Files.RemoveDurably(JournalFile), c.abandon(ctx), firstboot.Trim(ctx, c.host))
}

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

// closeMaker ends the supervision of this process: from then on its end does not start the undo.
// The caller has stopped the timer before.
func (c *Checkpoint) closeMaker() {
	if c.made != nil {
		_ = c.made.Close() // nothing was written
	}
}

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
