package systemd

import (
	"context"
	"path"
)

// UnitType returns the Type of a service, or "" for another unit.
func (u *Reader) UnitType(ctx context.Context, name string) (kind string) {
	u.service(ctx, name, "Type", &kind)
	return kind
}

// FailedReload returns how the last reload of a service since its start failed: exit-code, timeout
// …. It is "" if the reload did not fail, and for another unit.
func (u *Reader) FailedReload(ctx context.Context, name string) (how string) {
	if u.service(ctx, name, "ReloadResult", &how); how == "success" {
		return ""
	}
	return how
}

// UnitRestarts returns how often systemd has restarted a service by itself since its last requested
// start.
func (u *Reader) UnitRestarts(ctx context.Context, name string) (times int) {
	u.service(ctx, name, "NRestarts", &times)
	return times
}

// MainPID returns the main process of a service; 0: it has none.
func (u *Reader) MainPID(ctx context.Context, name string) (pid int) {
	u.service(ctx, name, "MainPID", &pid)
	return pid
}

// service reads a property of a service into to. For another unit, or if there is no such property,
// to does not change.
func (u *Reader) service(ctx context.Context, name, property string, to any) {
	if path.Ext(name) != ".service" {
		return
	}
	if b, err := u.connect(ctx); err == nil {
		_ = b.Property(ctx, managerName, unitPath(name), ownInterface(name), property, to)
	}
}
