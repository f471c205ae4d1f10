package checkpoint

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
)

// Finish decides whether the change stays. If all probes that passed before pass again, it removes
// the checkpoint, or leaves it for the confirmation: see [Checkpoint.Await]. Otherwise, or if run
// is the error of a change that did not end in time, it undoes the change and returns an
// [UndoneError].
func (c *Checkpoint) Finish(ctx context.Context, run error) error {
	// The decision is completed, even if the agent is to end meanwhile.
	j, h, s := c.journal, c.host, c.settings
	defer c.closeMaker()
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timerWindows*j.Window, probe.ErrNoAnswer)
	defer cancel()
	still, err := pendingHead(h.Live.Files)
	if err != nil { // no other process can read the journal, so undo the change now with the copy in memory
		v, failed := c.undo(ctx, nil, err.Error())
		return errors.Join(&UndoneError{Verdict: v}, failed)
	}
	if still == nil || still.Process != j.Process {
		return errors.New("the change was undone before it ended: it took longer than its checkpoint lasts")
	}
	end := time.Now().Add(j.Window)
	// If no program that starts now may change them, read the sysctls for the next boot while the
	// probes run.
	sysctls := sync.OnceValues(func() (undo.Packed, error) { return undo.PackSysctls(ctx, h) })
	if run == nil && firstboot.Awaits(h.Live.Files) && (c.starting == nil || !c.starting(ctx)) {
		go sysctls()
	}
	failed, run := c.prove(ctx, run, end, sysctls)
	if len(failed) == 0 && run == nil && c.awaits != nil {
		if run = c.awaitConfirmation(ctx); run == nil {
			return nil
		}
	}
	if len(failed) == 0 && run == nil {
		j.cachesCopy = s.CachesCopy
		if err := j.confirm(ctx, h, c.watchUntil(), c.program, s.log()); err != nil {
			return err
		}
		s.log().Info("checkpoint passed", zap.Any("probes", j.Proof().Probes))
		return nil
	}
	why := failed.String()
	if len(failed) == 0 {
		why = run.Error()
	}
	v, err := c.undo(ctx, failed, why)
	return errors.Join(&UndoneError{Verdict: v}, err)
}

// prove returns what does not answer after the change, or else why the change is wrong. run is the
// error of the pass. It asks pods and peers until end at the latest.
func (c *Checkpoint) prove(
	ctx context.Context, run error, end time.Time, sysctls func() (undo.Packed, error),
) (probe.Failures, error) {
	if failed := c.awaitProbes(ctx); len(failed) > 0 || run != nil {
		return failed, run
	}
	if c.unread != nil {
		if err := c.unread(ctx); err != nil {
			return nil, err
		}
	}
	if failed := c.compared.AwaitTraffic(ctx, end); len(failed) > 0 {
		return failed, nil
	}
	c.warnings = c.compared.Warnings(ctx)
	c.compared.DropEnded(ctx)
	return nil, firstboot.Prove(ctx, c.compared.Node, c.awaiting(), c.journal.Probes, sysctls)
}

// undo undoes the change now. It has a time limit of its own, because the steps before may have
// used the time of ctx, and the kernel's state is restored last.
func (c *Checkpoint) undo(ctx context.Context, failed probe.Failures, why string) (Verdict, error) {
	limit := unitsLimit + timerWindows*c.journal.Window
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, probe.ErrNoAnswer)
	defer cancel()
	return c.journal.undo(ctx, c.host, c.settings, failed, why)
}

// WaitFor makes [Checkpoint.Finish] wait until everything has started that the change starts,
// before the probes count. starting reports whether something is still starting. The wait ends with
// the probe window, and the watch covers what takes longer. unread returns an error if a program
// did not read the files of the change and would read them later. Then the change is undone. The
// caller calls WaitFor before Finish.
func (c *Checkpoint) WaitFor(starting func(context.Context) bool, unread func(context.Context) error) {
	c.starting, c.unread = starting, unread
}

// awaitProbes makes the probes after the change, until they pass and everything has started.
func (c *Checkpoint) awaitProbes(ctx context.Context) probe.Failures {
	j := c.journal
	return c.compared.AwaitProbes(ctx, c.starting, max(j.Steady(j.Window), j.naming()))
}

// naming returns how long the probes must pass after a change of the files for name resolution.
// This process reads these files again at most every five seconds (package net: hosts.go,
// dnsclient_unix.go, nss.go). Until then it resolves the store by the old files.
func (j *Journal) naming() time.Duration {
	if slices.ContainsFunc(j.Files, func(f undo.File) bool { return slices.Contains(nameFiles, f.Path) }) {
		return namesWindow
	}
	return 0
}

var nameFiles = []string{"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"}

const namesWindow = 6 * time.Second

// confirm ends the checkpoint of a good change, or starts its watch.
func (j *Journal) confirm(ctx context.Context, h *host.Host, untilUS uint64, program string, log *zap.Logger) error {
	watched, err := j.leave(ctx, h, untilUS, program, log)
	if err == nil && !watched {
		// of an earlier generation or attempt; it names a digest, so that a leftover does no harm
		_ = h.Files.Remove(VerdictFile)
	}
	return err
}

// leave ends the checkpoint, or starts a watch with it until untilUS. program is "" if the caller
// does not know which program can be run.
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
	if err != nil && !errors.Is(err, host.ErrNoLiveState) {
		log.Warn("the watch of the hooks could not be started: what they do from now on is not watched", zap.Error(err))
	}
	return false, j.disarm(ctx, h)
}

// Warnings returns what is wrong after a change that [Checkpoint.Finish] kept, one line each.
func (c *Checkpoint) Warnings() []string { return c.warnings }

// Proof returns the proof of the change, for its revision.
func (c *Checkpoint) Proof() *probe.Proof { return c.journal.Proof() }
