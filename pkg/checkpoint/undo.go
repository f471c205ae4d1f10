package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
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

// Finish decides after the change: when all probes that passed before pass again, the checkpoint is
// taken away and it stays, or is left for who confirms it: see [Checkpoint.Await]. Else, or when
// run is the error of a change that did not end in time, it is undone now and the error is an
// [UndoneError].
func (c *Checkpoint) Finish(ctx context.Context, run error) error {
	// What must be decided is decided, also when the agent is to end meanwhile.
	j, h, s := c.journal, c.host, c.settings
	defer c.disarm()
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timerWindows*j.Window, probe.ErrNoAnswer)
	defer cancel()
	still, err := pendingHead(h.Live.Files)
	if err != nil { // nobody else can undo it any more: it is done now, from memory
		v, failed := j.undo(ctx, h, s, nil, err.Error())
		return errors.Join(&UndoneError{Verdict: v}, failed)
	}
	if still == nil || still.Process != j.Process {
		return errors.New("the change was undone meanwhile: it took longer than its checkpoint lasts")
	}
	end := time.Now().Add(j.Window)
	// Where nothing starts any more that may change them, those for the next boot are read beside
	// the probes.
	sysctls := sync.OnceValues(func() (undo.Packed, error) { return undo.PackSysctls(ctx, h) })
	if firstboot.Awaits(h.Live.Files) && (c.starting == nil || !c.starting(ctx)) {
		go sysctls()
	}
	failed := c.awaitProbes(ctx)
	if len(failed) == 0 && run == nil {
		failed = c.compared.AwaitTraffic(ctx, end)
	}
	if len(failed) == 0 && run == nil {
		c.warnings = c.compared.Warnings(ctx)
		c.compared.DropEnded(ctx)
		run = firstboot.Prove(ctx, c.compared.Node, c.awaiting(), j.Probes, sysctls)
	}
	if len(failed) == 0 && run == nil && c.awaits != nil {
		if run = c.awaitConfirmation(ctx); run == nil {
			return nil
		}
	}
	if len(failed) == 0 && run == nil {
		j.cachesCopy = s.CachesCopy
		if err := j.confirm(ctx, h, c.watchUntil(), c.program, s.Log); err != nil {
			return err
		}
		if s.Log != nil {
			s.Log.Info("checkpoint passed", zap.Any("probes", j.Proof().Probes))
		}
		return nil
	}
	why := failed.String()
	if len(failed) == 0 {
		why = run.Error()
	}
	v, err := j.undo(ctx, h, s, failed, why)
	return errors.Join(&UndoneError{Verdict: v}, err)
}

// WaitFor has [Checkpoint.Finish] see the probes pass after all has started that the change starts:
// starting says that something still does. The window bounds that, too: what takes longer is left
// to the watch. Called before Finish.
func (c *Checkpoint) WaitFor(starting func(context.Context) bool) { c.starting = starting }

// awaitProbes tries the probes after the change, with what it starts.
func (c *Checkpoint) awaitProbes(ctx context.Context) probe.Failures {
	j := c.journal
	return c.compared.AwaitProbes(ctx, c.starting, max(j.Steady(j.Window), j.naming()))
}

// naming is how long the probes must pass after a change of what names are found by: this process
// looks at these files again when it last did so five seconds ago (package net: hosts.go,
// dnsclient_unix.go, nss.go), and finds the store by the old ones until then.
func (j *Journal) naming() time.Duration {
	if slices.ContainsFunc(j.Files, func(f undo.File) bool { return slices.Contains(nameFiles, f.Path) }) {
		return namesWindow
	}
	return 0
}

var nameFiles = []string{"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"}

const namesWindow = 6 * time.Second

// confirm ends the checkpoint of a good change, or has it watched.
func (j *Journal) confirm(ctx context.Context, h *host.Host, untilUS uint64, program string, log *zap.Logger) error {
	watched, err := j.leave(ctx, h, untilUS, program, log)
	if err == nil && !watched {
		_ = h.Files.Remove(VerdictFile) // of an earlier generation or try; it names a digest, and harms nobody
	}
	return err
}

// leave ends the checkpoint, or has the node watched with it until then. program is "" for whoever
// does not know which runs.
func (j *Journal) leave(
	ctx context.Context, h *host.Host, untilUS uint64, program string, log *zap.Logger,
) (watched bool, err error) {
	w, err := j.watched(ctx, h, untilUS)
	if err == nil && w != nil && program == "" {
		program, err = rehearse(ctx, h)
	}
	if err == nil && w != nil {
		if err = w.begin(ctx, h, program); err == nil {
			return true, nil
		}
	}
	if err != nil && !errors.Is(err, host.ErrNoLiveState) && log != nil {
		log.Warn("nobody watches what hooks do from now on", zap.Error(err))
	}
	return false, j.disarm(ctx, h)
}

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
	if s.Log != nil {
		s.Log.Warn("a change was not confirmed and is undone", zap.Int64("generation", j.Generation))
	}
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
		why = fmt.Sprintf("nobody confirmed it within %s", j.Awaits.For)
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
	if err := j.restore(ctx, h); err != nil {
		return Verdict{Generation: j.Generation, Digest: j.Digest, Why: why, At: time.Now()},
			fmt.Errorf("undo the change: something of it is left, and it is tried again: %w", err)
	}
	recovered := j.Boot == host.BootID(h.Live.Files) && len(failed) > 0 && j.compare(h, s).Recovered(ctx, failed)
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
		_, err = j.leave(ctx, h, until, "", s.Log)
	}
	if s.Log != nil {
		s.Log.Error("the change was undone", zap.Int64("generation", v.Generation), zap.Bool("bad", v.Bad),
			zap.String("why", why), zap.Error(err))
	}
	return v, err
}

// restore brings everything back to what the journal says. It goes on after an error; it may be
// killed and called again at any point. After a reboot only what is on disk is brought back, links
// of units too: the kernel's state is of the new boot.
func (j *Journal) restore(ctx context.Context, h *host.Host) error {
	h.Live.Files.Follow(j.Links)
	r := undo.Restore(h, &j.Log, j.Boot != host.BootID(h.Live.Files))
	err := errors.Join(r.Files(ctx), r.Own(ctx), r.Units(ctx))
	j.left = r.Left
	if r.Booted {
		return err
	}
	if late := j.Steady(j.Window); late > 0 {
		// Units of the network act on the files that came back, and set sysctls and routes to what
		// these say, when systemd has long called them reloaded.
		_, _ = r.Kernel(ctx) // it is done again
		host.Sleep(ctx, late)
	}
	left, failed := r.Kernel(ctx)
	if (probe.Prober{Host: h}).SetUp(ctx, j.Probes, j.Window) {
		left, failed = r.Kernel(ctx) // what the managers of links took for theirs
	}
	j.left = append(j.left, left...)
	return errors.Join(err, failed)
}
