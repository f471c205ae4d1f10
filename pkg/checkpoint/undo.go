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

// UndoneError is the error for a change that was undone, with the reason.
type UndoneError struct {
	Verdict Verdict
}

func (e *UndoneError) Error() string {
	switch v := e.Verdict; {
	case v.Digest != "":
		return (&SuppressedError{Verdict: v}).Error()
	case v.Bad:
		return fmt.Sprintf("the change was undone: probe %s failed after the change, and passes without it", v.Why)
	default:
		return fmt.Sprintf("the change was undone: %s; it is not known whether the change was the cause: %s", v.Why, v.Unsure)
	}
}

// Kind implements [problem.KindOf].
func (e *UndoneError) Kind() problem.ID { return problem.ChangeUndone }

// Undo undoes an unconfirmed change. The timer, the next boot or the next pass calls it. It does
// nothing if there is no checkpoint. It may be killed at any point and called again.
//
// First it ends the process that made the change, which could otherwise continue the change after a
// pause. A process whose change awaits its confirmation has finished the change, and may be a
// daemon. Undo ends it only if it does not release the lock. Undo does not check whether the time
// for the confirmation is over: see [UndoUnconfirmed].
func Undo(ctx context.Context, h *host.Host, s Settings) (*Verdict, error) {
	j, err := Pending(h.Live.Files)
	return takeBack(ctx, h, s, j, err)
}

// UndoUnconfirmed does what Undo does, except for a change that may still be confirmed: it returns
// the journal of that change and does nothing.
func UndoUnconfirmed(ctx context.Context, h *host.Host, s Settings) (awaiting *Journal, err error) {
	j, err := Pending(h.Live.Files)
	if err == nil && j.mayBeConfirmed(h.Live.Files) {
		return j, nil
	}
	_, err = takeBack(ctx, h, s, j, err)
	return nil, err
}

// takeBack does the work of [Undo] for callers that have read the journal.
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
		// Another process that held the lock may have undone the change, and may have been killed
		// during a change of its own since. So read the journal again.
		if j, err = Pending(h.Live.Files); j == nil || err != nil {
			return nil, err
		}
		if err := j.endMaker(ctx, h); err != nil {
			return nil, err
		}
	}
	if !host.IsOtherBoot(h.Live.Files, j.Boot) && j.Awaits == nil {
		failed = j.compare(h, s).Attempt(ctx)
	}
	why := agentEnded
	switch {
	case len(failed) > 0:
		why = failed.String()
	case j.Awaits != nil:
		// The failed confirmation says nothing about the change. But the agent must not make the
		// change again by itself, because the user wanted to see its effect first.
		switch {
		case host.IsOtherBoot(h.Live.Files, j.Boot):
			why = "nobody confirmed it before the node went down"
		case !j.Awaits.expired():
			why = "nobody confirmed it, and an undo was asked for"
		default:
			why = fmt.Sprintf("nobody confirmed it within %s", j.Awaits.For)
		}
	}
	v, err := j.undo(ctx, h, s, failed, why)
	return &v, err
}

// lock takes the lock. If the process that made the change holds it, lock ends that process: it may
// wait for something that does not end, such as a hook without a network.
func (j *Journal) lock(ctx context.Context, h *host.Host, s Settings) (unlock func(), err error) {
	unlock, err = s.Lock(ctx)
	if err == nil || host.IsOtherBoot(h.Live.Files, j.Boot) {
		return unlock, err
	}
	if err := h.EndProcess(ctx, j.Process); err != nil {
		return nil, err
	}
	return s.Lock(ctx)
}

// endMaker ends the process that made the change. It does nothing after a reboot, or if the change
// awaits its confirmation.
func (j *Journal) endMaker(ctx context.Context, h *host.Host) error {
	if host.IsOtherBoot(h.Live.Files, j.Boot) || j.Awaits != nil {
		return nil
	}
	return h.EndProcess(ctx, j.Process)
}

// undo restores the host, judges the change, records the verdict and disarms, in this order. If it
// is killed, the next call does all of it again. If something could not be restored, the checkpoint
// stays for another attempt.
func (j *Journal) undo(ctx context.Context, h *host.Host, s Settings, failed probe.Failures, why string) (Verdict, error) {
	if j.Watched {
		if err := h.Files.Remove(WatchFile); err != nil {
			return Verdict{}, err
		}
	}
	if err := j.restore(ctx, h, s.Lock != nil); err != nil {
		return Verdict{Generation: j.Generation, Digest: j.Digest, Why: why, Unsure: "the change is undone in part", At: time.Now()},
			fmt.Errorf("undo the change: a part of it is not undone, and the agent tries again: %w", err)
	}
	recovered := !host.IsOtherBoot(h.Live.Files, j.Boot) && len(failed) > 0 && j.compare(h, s).Recovered(ctx, failed)
	_ = h.Files.Remove(verdictReserve) // see restore
	v, err := j.judge(ctx, h, failed, recovered, why)
	if err == nil && s.Record != nil {
		err = s.Record(ctx, h, j.Before, v)
	}
	if err == nil {
		err = firstboot.Trim(ctx, h)
	}
	until := j.WatchUS // the watch of an earlier change continues
	if len(failed) > 0 && !recovered {
		until = 0 // the network is lost already
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

var errUnitsLate = errors.New("systemd did not restore the units in time: look whether systemd answers (systemctl)")

// unitsInTime restores the units within a time limit, so that a systemd that hangs does not delay
// the restore of the network.
func unitsInTime(ctx context.Context, r *undo.Reversal) error {
	ctx, cancel := context.WithTimeoutCause(ctx, unitsLimit, errUnitsLate)
	defer cancel()
	err := r.Units(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errUnitsLate // each unit has an error with this text
	}
	return err
}

// restore restores everything in the journal. It continues after an error. It may be killed at any
// point and called again. After a reboot it only restores what is on disk, including the links of
// units, because the kernel's state is that of the new boot. waits means that a pass follows, which
// undoes what is left.
func (j *Journal) restore(ctx context.Context, h *host.Host, waits bool) error {
	_ = h.Files.Remove(filesReserve) // if that fails, the write that needs the space reports it
	h.Live.Files.Follow(j.Links)
	r := undo.Restore(h, &j.Log, host.IsOtherBoot(h.Live.Files, j.Boot))
	r.Waits = waits
	err := errors.Join(r.Files(ctx), r.Own(ctx), unitsInTime(ctx, r))
	j.left = r.Left
	if r.Booted {
		return err
	}
	// Network units act on the restored files after systemd has reported them as reloaded. Then
	// they set sysctls, addresses and routes by these files.
	late := j.Steady(j.Window)
	left, failed := r.Kernel(ctx)
	host.Sleep(ctx, late)
	if (probe.Prober{Host: h}).SetUp(ctx, j.Probes, j.Window) || late > 0 {
		left, failed = r.Kernel(ctx) // what the link managers have changed since
	}
	j.left = append(j.left, left...)
	return errors.Join(err, failed, r.PutOthersBehind(ctx))
}
