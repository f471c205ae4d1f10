package systemd

import (
	"context"
	"path"
)

// UnitType is a service's Type, "" of other units.
func (u *Reader) UnitType(ctx context.Context, name string) (kind string) {
	u.service(ctx, name, "Type", &kind)
	return kind
}

// FailedReload is how the last reload of a service failed since its start: exit-code, timeout …; ""
// where it did not, and of other units.
func (u *Reader) FailedReload(ctx context.Context, name string) (how string) {
	if u.service(ctx, name, "ReloadResult", &how); how == "success" {
		return ""
	}
	return how
}

// UnitRestarts is how often systemd has started a service again by itself, since somebody asked for
// its start.
func (u *Reader) UnitRestarts(ctx context.Context, name string) (times int) {
	u.service(ctx, name, "NRestarts", &times)
	return times
}

// MainPID is the main process of a service; 0: it has none.
func (u *Reader) MainPID(ctx context.Context, name string) (pid int) {
	u.service(ctx, name, "MainPID", &pid)
	return pid
}

// service reads what systemd has of a service into to, which stays as it is for another unit, and
// where systemd has nothing.
func (u *Reader) service(ctx context.Context, name, property string, to any) {
	if path.Ext(name) != ".service" {
		return
	}
	if b, err := u.connect(ctx); err == nil {
		_ = b.Property(ctx, managerName, unitPath(name), ownInterface(name), property, to)
	}
}
