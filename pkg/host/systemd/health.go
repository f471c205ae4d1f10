package systemd

import (
	"context"
	"fmt"
	"path"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// RestartFailed starts a unit, or starts it again, whatever state it is in, and does not wait. That
// it failed, and how often, is forgotten: else systemd may refuse. It may be retried.
func (w *Writer) RestartFailed(ctx context.Context, name string) error {
	b, err := w.units.connect(ctx)
	if err != nil {
		return fmt.Errorf("start unit %s again: %w", name, err)
	}
	err = b.forgetFailure(ctx, name)
	if err == nil {
		if err = b.manager(ctx, "RestartUnit", name, "replace").Err; err != nil {
			err = explainUnit(name, err)
		}
	}
	if err != nil {
		return fmt.Errorf("start unit %s again: %w", name, err)
	}
	if log := w.log; log != nil {
		log.Info("unit start again", zap.String("unit", name))
	}
	return nil
}

// UnitType is a service's Type, "" of other units.
func (u *Reader) UnitType(ctx context.Context, name string) string {
	return u.serviceText(ctx, name, "Type")
}

// FailedReload is how the last reload of a service failed since its start: exit-code, timeout …; ""
// where it did not, and of other units.
func (u *Reader) FailedReload(ctx context.Context, name string) string {
	if how := u.serviceText(ctx, name, "ReloadResult"); how != "success" {
		return how
	}
	return ""
}

// serviceText is a text that systemd has of a service, or "".
func (u *Reader) serviceText(ctx context.Context, name, property string) string {
	if path.Ext(name) != ".service" {
		return ""
	}
	b, err := u.connect(ctx)
	if err != nil {
		return ""
	}
	return ownProperty(ctx, b.conn.Object(managerName, unitPath(name)), name, property)
}

// ClockUS is now, as systemd's monotonic times are: CLOCK_MONOTONIC, microseconds.
func ClockUS() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return uint64(now.Nano()) / 1000
}
