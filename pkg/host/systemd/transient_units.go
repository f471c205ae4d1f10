package systemd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

type unitProperty struct {
	Name  string
	Value dbus.Variant
}

type execStart struct {
	Path   string
	Args   []string
	Ignore bool // ignore its failure
}

type condition struct {
	Type            string
	Trigger, Negate bool
	Value           string
}

type auxUnit struct {
	Name       string
	Properties []unitProperty
}

func property(name string, value any) unitProperty {
	return unitProperty{name, dbus.MakeVariant(value)}
}

// transient returns the properties of a transient unit. If ends, the unit stops at shutdown;
// otherwise it also runs during the shutdown.
func transient(description string, ends bool, more ...unitProperty) []unitProperty {
	return append(more, property("Description", description), property("DefaultDependencies", ends),
		property("CollectMode", "inactive-or-failed"))
}

// StartTimer creates a transient timer NAME.timer. Once, after the given time, the timer runs a
// command as NAME.service, if the file about exists then. systemd restarts the service until it
// succeeds. The service has the sandboxing of the [Service] section in unit. Nothing of it remains
// after a boot. Units with that name are stopped first, also the path unit of
// [Writer.StartWhenGone], which an undo by an earlier release leaves, and a service that runs. The
// caller holds the lock of a pass: such a service only waits for it, or has done its work. It
// returns [sys.ErrNoLiveState] where no systemd runs.
//
// The service is not Type=oneshot, because systemd before 244 refuses Restart= with it.
func (w *Writer) StartTimer(
	ctx context.Context, name, description, unit string, after time.Duration, about string, command ...string,
) error {
	return w.startTimer(ctx, name, description, unit, after, false, about, command)
}

// StartWatch is StartTimer for a service that stops at shutdown.
func (w *Writer) StartWatch(
	ctx context.Context, name, description, unit string, after time.Duration, about string, command ...string,
) error {
	return w.startTimer(ctx, name, description, unit, after, true, about, command)
}

func (w *Writer) startTimer(
	ctx context.Context, name, description, unit string, after time.Duration, ends bool, about string, command []string,
) error {
	b, err := w.units.connect(ctx)
	if err != nil {
		return fmt.Errorf("start timer %s: %w", name, err)
	}
	release := b.release(ctx)
	service := transient(description, ends, // a started shutdown must not prevent an undo
		property("Type", "simple"),
		property("Restart", "on-failure"),
		property("RestartUSec", uint64(2*time.Second/time.Microsecond)),
		property("StartLimitIntervalUSec", uint64(0)), // no limit
		property("ExecStart", []execStart{{command[0], command, false}}))
	service = append(service, confined(unit, release)...)
	if release >= conditions {
		service = append(service, property("Conditions", []condition{{Type: "ConditionPathExists", Value: about}}))
	}
	due := property("OnActiveSec", uint64(after/time.Microsecond))
	if release >= 243 {
		due = property("TimersMonotonic", []struct {
			Base string
			USec uint64
		}{{"OnActiveSec", uint64(after / time.Microsecond)}})
	}
	timer := transient(description, ends, due, property("AccuracyUSec", uint64(100*time.Millisecond/time.Microsecond)),
		property("RemainAfterElapse", false))
	start := func() error {
		return w.manage(ctx, "start timer "+name, name, "StartTransientUnit", name+".timer", "replace", timer,
			[]auxUnit{{name + ".service", service}})
	}
	err = start()
	if isUnitThere(err) {
		if err := errors.Join(w.StopTimer(ctx, name), w.StopUnit(ctx, name+".service", true)); err != nil {
			return err
		}
		err = start()
	}
	return err
}

// conditions is the first systemd release that certainly accepts conditions in transient units.
const conditions = 240

// TryService runs a command once as the transient service NAME.service, with sandboxing as in
// [Writer.StartTimer], and waits for its end. It returns an error if the command could not run or
// failed, and [sys.ErrNoLiveState] where no systemd runs.
func (w *Writer) TryService(
	ctx context.Context, name, description, unit string, limit time.Duration, command ...string,
) error {
	b, err := w.units.connect(ctx)
	if err != nil {
		return fmt.Errorf("try %s: %w", command[0], err)
	}
	service := transient(description, false, property("Type", "oneshot"),
		property("TimeoutStartUSec", uint64(limit/time.Microsecond)),
		property("ExecStart", []execStart{{command[0], command, false}}))
	service = append(service, confined(unit, b.release(ctx))...)
	result, err := b.job(ctx, "StartTransientUnit", name+".service", "replace", service, []auxUnit{})
	if err != nil {
		return fmt.Errorf("try %s: %w", command[0], explainUnit(name+".service", err))
	}
	if result != "done" {
		return fmt.Errorf("try %s: %s: see `journalctl -u %s`", command[0], result, name)
	}
	return nil
}

// StopTimer stops a timer of [Writer.StartTimer], and the path unit that [Writer.StartWhenGone]
// added. Missing units are success. A service that these have already started goes on.
func (w *Writer) StopTimer(ctx context.Context, name string) error {
	for _, unit := range []string{name + ".path", name + ".timer"} {
		if err := w.StopUnit(ctx, unit, true); err != nil && !errors.Is(err, sys.ErrNoLiveState) {
			return fmt.Errorf("stop %s: %w", unit, err)
		}
	}
	return nil
}

// StartWhenGone makes systemd start the service of a [Writer.StartTimer] timer as soon as this
// process is gone for any reason. It creates a file and keeps it open for writing; systemd notices
// when the file is closed. systemd does not notice this while it reloads its units; then the timer
// remains. The caller must call StopTimer before it closes the file. It fails where systemd creates
// no transient path unit.
func (w *Writer) StartWhenGone(ctx context.Context, name, description, file string) (io.Closer, error) {
	f, err := w.openLock(file)
	if err != nil {
		return nil, err
	}
	path := transient(description, false, property("Paths", []struct{ Kind, Path string }{{"PathChanged", file}}))
	if err := w.manage(ctx, "start path "+name, name, "StartTransientUnit", name+".path", "replace", path,
		[]auxUnit{}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
