package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// StartUnit starts a unit, or queues that and returns when wait is false. A
// unit that runs is success. [fs.ErrNotExist] if systemd has no such unit,
// [sys.ErrNoLiveState] where no systemd runs. It may be retried. That the unit failed,
// and how often it was started, is forgotten before: else systemd may refuse
// (StartLimitBurst=). So it is in [Writer.RestartUnit] and [Writer.ReloadUnit],
// where systemd would stop the unit, and refuse to start it.
func (w *Writer) StartUnit(ctx context.Context, name string, wait bool) error {
	return w.unitJob(ctx, "start unit "+name, "StartUnit", name, wait)
}

// StopUnit stops a unit. A unit that is not there is success.
func (w *Writer) StopUnit(ctx context.Context, name string, wait bool) error {
	err := w.unitJob(ctx, "stop unit "+name, "StopUnit", name, wait)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// How long a restart waits for a reload: ten seconds at most.
const (
	reloadTries = 100
	reloadPause = 100 * time.Millisecond
)

// RestartUnit restarts a unit if it runs, and leaves it alone if not. A reload that is under way
// ends before it: else systemd kills the reload's process, and calls the unit failed.
func (w *Writer) RestartUnit(ctx context.Context, name string, wait bool) error {
	for range reloadTries {
		state, err := w.units.Unit(ctx, name)
		under := state.Active == "reloading" || state.JobType == "reload"
		if err != nil || !under || !sys.Sleep(ctx, reloadPause) {
			break // whether it can be restarted is for systemd to say
		}
	}
	return w.unitJob(ctx, "restart unit "+name, "TryRestartUnit", name, wait)
}

// ReloadUnit makes a unit that runs read its configuration again; one that
// cannot is restarted.
func (w *Writer) ReloadUnit(ctx context.Context, name string, wait bool) error {
	return w.unitJob(ctx, "reload unit "+name, "ReloadOrTryRestartUnit", name, wait)
}

// RestartFailed starts a unit, or starts it again, whatever state it is in, and does not wait. That
// it failed, and how often, is forgotten: else systemd may refuse. It may be retried.
func (w *Writer) RestartFailed(ctx context.Context, name string) error {
	err := w.unitJob(ctx, "start unit "+name+" again", "RestartUnit", name, false)
	if log := w.log; err == nil && log != nil {
		log.Info("unit start again", zap.String("unit", name))
	}
	return err
}

// unitJob queues a job, which what says in words, and waits for its end.
func (w *Writer) unitJob(ctx context.Context, what, method, name string, wait bool) error {
	b, err := w.units.connect(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := w.forgetStarts(ctx, b, method, name); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	result := "done"
	if wait {
		result, err = b.job(ctx, method, name, "replace")
	} else {
		err = b.manager(ctx, method, name, "replace").Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, explainUnit(name, err))
	}
	switch result {
	case "done", "skipped":
	case "dependency":
		return fmt.Errorf("%s: a unit that it requires failed: see `systemctl list-dependencies "+
			"--state=failed %s`", what, name)
	case "canceled":
		return fmt.Errorf("%s: another job took its place: try again", what)
	default:
		return fmt.Errorf("%s: %s%s: see `journalctl -u %s`", what, result, w.lastResult(ctx, name), name)
	}
	sys.Changed(w.log, what, zap.Bool("waited", wait))
	return nil
}

// forgetStarts has systemd not count the starts before this job, if the job may start the unit: of
// those that leave alone what does not run, none does so but to one that failed.
func (w *Writer) forgetStarts(ctx context.Context, b *Bus, method, name string) error {
	switch method {
	case "StopUnit":
		return nil
	case "TryRestartUnit", "ReloadOrTryRestartUnit":
		if s, err := w.units.Unit(ctx, name); err != nil || s.Active == "failed" {
			return err
		}
	}
	if err := b.manager(ctx, "ResetFailedUnit", name).Err; err != nil && !isNoUnit(err) {
		return explainUnit(name, err)
	}
	return nil
}

// lastResult is how a unit's last run ended, in brackets, or "".
func (w *Writer) lastResult(ctx context.Context, name string) string {
	s, err := w.units.Unit(ctx, name)
	if err != nil || s.Result == "" {
		return ""
	}
	return " (" + s.Result + ")"
}

// DaemonReload makes systemd read its unit files again.
func (w *Writer) DaemonReload(ctx context.Context) error {
	return w.manage(ctx, "reload unit files", "", "Reload")
}

// EnableUnit makes the links that a unit's [Install] section asks for. It does
// not start it. Links that are there are success; one to another file is replaced.
func (w *Writer) EnableUnit(ctx context.Context, name string) error {
	return w.manage(ctx, "enable unit "+name, name, "EnableUnitFiles", []string{name}, false, true)
}

// DisableUnit removes all links to a unit file. It does not stop it.
func (w *Writer) DisableUnit(ctx context.Context, name string) error {
	return w.manage(ctx, "disable unit "+name, name, "DisableUnitFiles", []string{name}, false)
}

// MaskUnit links a unit to /dev/null, or takes that link away, and makes
// systemd know of it.
func (w *Writer) MaskUnit(ctx context.Context, name string, masked bool) error {
	if !masked {
		return w.unmask(ctx, name, false)
	}
	if err := w.manage(ctx, "mask unit "+name, name, "MaskUnitFiles", []string{name}, false, false); err != nil {
		return err
	}
	return w.DaemonReload(ctx)
}

// Unmask takes every mask of a unit away, that of this boot too, and makes systemd know of it.
func (w *Writer) Unmask(ctx context.Context, name string) error {
	return w.unmask(ctx, name, false, true)
}

// unmask takes masks away: true is that of this boot alone.
func (w *Writer) unmask(ctx context.Context, name string, runtime ...bool) error {
	for _, one := range runtime {
		if err := w.manage(ctx, "unmask unit "+name, name, "UnmaskUnitFiles", []string{name}, one); err != nil {
			return err
		}
	}
	return w.DaemonReload(ctx)
}

// manage calls a method of systemd's manager, about a unit or, with "", about all.
func (w *Writer) manage(ctx context.Context, verb, name, method string, args ...any) error {
	b, err := w.units.connect(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	if err := b.manager(ctx, method, args...).Err; err != nil {
		return fmt.Errorf("%s: %w", verb, explainUnit(name, err))
	}
	sys.Changed(w.log, verb)
	return nil
}
