package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/problem"
)

// UndoneError says that a change was taken back, and why.
type UndoneError struct {
	Verdict Verdict
}

func (e *UndoneError) Error() string {
	switch v := e.Verdict; {
	case v.Digest != "":
		return (&SuppressedError{Verdict: v}).Error()
	case v.Bad:
		return fmt.Sprintf("it was undone: probe %s failed after it, and passes without it", v.Why)
	default:
		return fmt.Sprintf("it was undone: %s; whether it was the change is not known: %s", v.Why, v.Unsure)
	}
}

// Kind implements [problem.KindOf].
func (e *UndoneError) Kind() problem.ID { return problem.ChangeUndone }

// Undo takes an unconfirmed change back: by the timer, at the next boot, or by the next pass.
// Without a checkpoint there is nothing to do. It may be killed at any point and run again.
//
// The process that made the change is ended first: stopped, it would go on with it when it wakes.
// One whose change awaits its confirmation has ended with it, and may be a daemon: it is ended only
// if it keeps the lock. Whether such a change is due does not matter here: see [UndoUnconfirmed].
func Undo(ctx context.Context, h *host.Host, s Settings) (*Verdict, error) {
	j, err := Pending(h.Live.Files)
	return takeBack(ctx, h, s, j, err)
}

// UndoUnconfirmed is Undo, but for a change that may still be confirmed: its journal is returned,
// and nothing is done.
func UndoUnconfirmed(ctx context.Context, h *host.Host, s Settings) (awaiting *Journal, err error) {
	j, err := Pending(h.Live.Files)
	if err == nil && j.mayBeConfirmed(h.Live.Files) {
		return j, nil
	}
	_, err = takeBack(ctx, h, s, j, err)
	return nil, err
}

// takeBack is [Undo] for who has looked for the journal.
func takeBack(ctx context.Context, h *host.Host, s Settings, j *Journal, err error) (*Verdict, error) {
	if err == nil && j == nil {
		err = removeStale(ctx, h, s.Lock)
	}
	if j == nil || err != nil {
		return nil, err
	}
	s.log().Warn("a change was not confirmed and is undone", zap.Int64("generation", j.Generation))
	var failed probe.Failures
	if err := j.endMaker(ctx, h); err != nil {
		return nil, err
	}
	if s.Lock != nil {
		unlock, err := j.lock(ctx, h, s)
		if err != nil {
			return nil, err
		}
		defer unlock()
		// Whoever had the lock may have undone it, and may have died in the middle of a change of
		// its own since: what counts is what is there now.
		if j, err = Pending(h.Live.Files); j == nil || err != nil {
			return nil, err
		}
		if err := j.endMaker(ctx, h); err != nil {
			return nil, err
		}
	}
	if j.Boot == host.BootID(h.Live.Files) && j.Awaits == nil {
		failed = j.compare(h, s).Attempt(ctx)
	}
	why := agentEnded
	switch {
	case len(failed) > 0:
		why = failed.String()
	case j.Awaits != nil:
		// It says nothing of the change, and yet nobody makes it again without being asked: whoever
		// made it wanted to see it first.
		switch {
		case j.Boot != host.BootID(h.Live.Files):
			why = "nobody confirmed it before the node went down"
		case !j.Awaits.expired():
			why = "nobody confirmed it, and it was to be taken back"
		default:
			why = fmt.Sprintf("nobody confirmed it within %s", j.Awaits.For)
		}
	}
	v, err := j.undo(ctx, h, s, failed, why)
	return &v, err
}

// lock takes the lock, from the process that made the change too, should that keep it: it waits for
// what cannot end, such as a hook without a network.
func (j *Journal) lock(ctx context.Context, h *host.Host, s Settings) (unlock func(), err error) {
	unlock, err = s.Lock(ctx)
	if err == nil || j.Boot != host.BootID(h.Live.Files) {
		return unlock, err
	}
	if err := h.EndProcess(ctx, j.Process); err != nil {
		return nil, err
	}
	return s.Lock(ctx)
}

// endMaker ends the process that makes the change still.
func (j *Journal) endMaker(ctx context.Context, h *host.Host) error {
	if j.Boot != host.BootID(h.Live.Files) || j.Awaits != nil {
		return nil
	}
	return h.EndProcess(ctx, j.Process)
}

// undo restores, judges, has it recorded and disarms, in this order: killed anywhere, it is
// done again from the start. What could not be restored keeps the checkpoint, for another attempt.
func (j *Journal) undo(ctx context.Context, h *host.Host, s Settings, failed probe.Failures, why string) (Verdict, error) {
	if j.Watched {
		if err := h.Files.Remove(WatchFile); err != nil {
			return Verdict{}, err
		}
	}
	if err := j.restore(ctx, h, s.Lock != nil); err != nil {
		return Verdict{Generation: j.Generation, Digest: j.Digest, Why: why, Unsure: "not all of it is undone", At: time.Now()},
			fmt.Errorf("undo the change: something of it is left, and it is tried again: %w", err)
	}
	recovered := j.Boot == host.BootID(h.Live.Files) && len(failed) > 0 && j.compare(h, s).Recovered(ctx, failed)
	_ = h.Files.Remove(verdictReserve) // as in restore
	v, err := j.judge(ctx, h, failed, recovered, why)
	if err == nil && s.Record != nil {
		err = s.Record(ctx, h, j.Before, v)
	}
	if err == nil {
		err = firstboot.Trim(ctx, h)
	}
	until := j.WatchUS // what an earlier hook does is watched on
	if len(failed) > 0 && !recovered {
		until = 0 // there is nothing to be lost
	}
	if err == nil {
		_, err = j.leave(ctx, h, until, "", s.log())
	}
	s.log().Error("the change was undone", zap.Int64("generation", v.Generation), zap.Bool("bad", v.Bad),
		zap.String("why", why), zap.Error(err))
	return v, err
}

// unitsLimit is how long an undo waits for systemd, which may hang.
const unitsLimit = 30 * time.Second

var errUnitsLate = errors.New("systemd did not bring the units back in time: see whether it answers (systemctl)")

// unitsInTime brings the units back, or gives them up for now: the network does not wait for a
// systemd that hangs.
func unitsInTime(ctx context.Context, r *undo.Reversal) error {
	ctx, cancel := context.WithTimeoutCause(ctx, unitsLimit, errUnitsLate)
	defer cancel()
	err := r.Units(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errUnitsLate // each unit has an error, and all say this
	}
	return err
}

// restore brings everything back to what the journal says. It goes on after an error; it may be
// killed and called again at any point. After a reboot only what is on disk is brought back, links
// of units too: the kernel's state is of the new boot. waits says that a pass follows, which undoes
// what is left.
func (j *Journal) restore(ctx context.Context, h *host.Host, waits bool) error {
	_ = h.Files.Remove(filesReserve) // what cannot be freed is said by who needs it
	h.Live.Files.Follow(j.Links)
	r := undo.Restore(h, &j.Log, j.Boot != host.BootID(h.Live.Files))
	r.Waits = waits
	err := errors.Join(r.Files(ctx), r.Own(ctx), unitsInTime(ctx, r))
	j.left = r.Left
	if r.Booted {
		return err
	}
	// Units of the network act on the files that came back when systemd has long called them
	// reloaded. They set sysctls, addresses and routes to what these say.
	late := j.Steady(j.Window)
	left, failed := r.Kernel(ctx)
	host.Sleep(ctx, late)
	if (probe.Prober{Host: h}).SetUp(ctx, j.Probes, j.Window) || late > 0 {
		left, failed = r.Kernel(ctx) // what the managers of links took for theirs
	}
	j.left = append(j.left, left...)
	return errors.Join(err, failed, r.PutOthersBehind(ctx))
}
