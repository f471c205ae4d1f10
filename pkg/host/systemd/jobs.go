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

// StartUnit starts a unit and waits for it, or only queues the job if wait is false. A running unit
// is success. It returns [fs.ErrNotExist] if systemd has no such unit, and [sys.ErrNoLiveState]
// where no systemd runs. It may be retried. First it resets the failed state and the start counter
// of the unit, or systemd could refuse the start (StartLimitBurst=). [Writer.RestartUnit] and
// [Writer.ReloadUnit] do the same: otherwise systemd could stop the unit, and then refuse to start
// it.
func (w *Writer) StartUnit(ctx context.Context, name string, wait bool) error {
	return w.unitJob(ctx, "start unit "+name, "StartUnit", name, wait)
}

// StopUnit stops a unit. A missing unit is success.
func (w *Writer) StopUnit(ctx context.Context, name string, wait bool) error {
	err := w.unitJob(ctx, "stop unit "+name, "StopUnit", name, wait)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// A restart waits at most ten seconds for a reload.
const (
	reloadTries = 100
	reloadPause = 100 * time.Millisecond
)

// RestartUnit restarts a unit if it runs. First it waits for a reload in progress: otherwise
// systemd kills the process of the reload, and the unit counts as failed.
func (w *Writer) RestartUnit(ctx context.Context, name string, wait bool) error {
	for range reloadTries {
		state, err := w.units.Unit(ctx, name)
		under := state.Active == "reloading" || state.JobType == "reload"
		if err != nil || !under || !sys.Sleep(ctx, reloadPause) {
			break // systemd decides whether it can be restarted
		}
	}
	return w.unitJob(ctx, "restart unit "+name, "TryRestartUnit", name, wait)
}

// ReloadUnit makes a running unit read its configuration again. A unit that cannot reload is
// restarted.
func (w *Writer) ReloadUnit(ctx context.Context, name string, wait bool) error {
	return w.unitJob(ctx, "reload unit "+name, "ReloadOrTryRestartUnit", name, wait)
}

// RestartFailed starts or restarts a unit in any state, and does not wait. It resets the failed
// state and the start counter, or systemd could refuse. It may be retried.
func (w *Writer) RestartFailed(ctx context.Context, name string) error {
	err := w.unitJob(ctx, "start unit "+name+" again", "RestartUnit", name, false)
	if log := w.log; err == nil && log != nil {
		log.Info("unit start again", zap.String("unit", name))
	}
	return err
}

// unitJob queues a job and waits for its end. what describes the job for errors and the log.
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
		return fmt.Errorf("%s: another job replaced this one: try again", what)
	default:
		return fmt.Errorf("%s: %s%s: see `journalctl -u %s`", what, result, w.lastResult(ctx, name), name)
	}
	sys.Changed(w.log, what, zap.Bool("waited", wait))
	return nil
}

// forgetStarts resets the failed state and the start counter of a unit if the job may start the
// unit. Try-restart and reload jobs do not start a failed unit, so its failed state stays.
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

// lastResult returns how a unit's last run ended, in brackets, or "".
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

// EnableUnit creates the links of a unit's [Install] section. It does not start the unit. Existing
// links are success; a link to another file is replaced.
func (w *Writer) EnableUnit(ctx context.Context, name string) error {
	return w.manage(ctx, "enable unit "+name, name, "EnableUnitFiles", []string{name}, false, true)
}

// DisableUnit removes all links to a unit file. It does not stop the unit.
func (w *Writer) DisableUnit(ctx context.Context, name string) error {
	return w.manage(ctx, "disable unit "+name, name, "DisableUnitFiles", []string{name}, false)
}

// MaskUnit links a unit to /dev/null, or removes that link, and then reloads systemd.
func (w *Writer) MaskUnit(ctx context.Context, name string, masked bool) error {
	if !masked {
		return w.unmask(ctx, name, false)
	}
	if err := w.manage(ctx, "mask unit "+name, name, "MaskUnitFiles", []string{name}, false, false); err != nil {
		return err
	}
	return w.DaemonReload(ctx)
}

// Unmask removes all masks of a unit, also one for this boot, and then reloads systemd.
func (w *Writer) Unmask(ctx context.Context, name string) error {
	return w.unmask(ctx, name, false, true)
}

// unmask removes masks. runtime says which ones: true is a mask for this boot only.
func (w *Writer) unmask(ctx context.Context, name string, runtime ...bool) error {
	for _, one := range runtime {
		if err := w.manage(ctx, "unmask unit "+name, name, "UnmaskUnitFiles", []string{name}, one); err != nil {
			return err
		}
	}
	return w.DaemonReload(ctx)
}

// manage calls a method of systemd's manager, about one unit, or about all if name is "".
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
