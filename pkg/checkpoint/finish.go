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

// Finish decides after the change: when all probes that passed before pass again, the checkpoint is
// taken away and it stays, or is left for who confirms it: see [Checkpoint.Await]. Else, or when
// run is the error of a change that did not end in time, it is undone now and the error is an
// [UndoneError].
func (c *Checkpoint) Finish(ctx context.Context, run error) error {
	// What must be decided is decided, also when the agent is to end meanwhile.
	j, h, s := c.journal, c.host, c.settings
	defer c.closeMaker()
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), timerWindows*j.Window, probe.ErrNoAnswer)
	defer cancel()
	still, err := pendingHead(h.Live.Files)
	if err != nil { // nobody else can undo it any more: it is done now, from memory
		v, failed := c.undo(ctx, nil, err.Error())
		return errors.Join(&UndoneError{Verdict: v}, failed)
	}
	if still == nil || still.Process != j.Process {
		return errors.New("the change was undone meanwhile: it took longer than its checkpoint lasts")
	}
	end := time.Now().Add(j.Window)
	// Where nothing starts any more that may change them, those for the next boot are read beside
	// the probes.
	sysctls := sync.OnceValues(func() (undo.Packed, error) { return undo.PackSysctls(ctx, h) })
	if run == nil && firstboot.Awaits(h.Live.Files) && (c.starting == nil || !c.starting(ctx)) {
		go sysctls()
	}
	failed := c.awaitProbes(ctx)
	if len(failed) == 0 && run == nil && c.unread != nil {
		run = c.unread(ctx)
	}
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

// undo takes the change back now. Its time is its own: what came before may have used up that of
// ctx, and the kernel's state comes back after all else.
func (c *Checkpoint) undo(ctx context.Context, failed probe.Failures, why string) (Verdict, error) {
	limit := unitsLimit + timerWindows*c.journal.Window
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, probe.ErrNoAnswer)
	defer cancel()
	return c.journal.undo(ctx, c.host, c.settings, failed, why)
}

// WaitFor has [Checkpoint.Finish] see the probes pass after all has started that the change starts:
// starting says that something still does. The window bounds that, too: what takes longer is left
// to the watch. unread is the error of what did not read the files of the change, and will at
// another time: the change is undone. Called before Finish.
func (c *Checkpoint) WaitFor(starting func(context.Context) bool, unread func(context.Context) error) {
	c.starting, c.unread = starting, unread
}

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
	if err != nil && !errors.Is(err, host.ErrNoLiveState) {
		log.Warn("nobody watches what hooks do from now on", zap.Error(err))
	}
	return false, j.disarm(ctx, h)
}
