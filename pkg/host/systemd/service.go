package systemd

import (
	"context"
	"path"

	"github.com/godbus/dbus/v5"
)

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

// UnitRestarts is how often systemd has started a service again by itself, since somebody asked for
// its start.
func (u *Reader) UnitRestarts(ctx context.Context, name string) int {
	return u.serviceNumber(ctx, name, "NRestarts")
}

// MainPID is the main process of a service; 0: it has none.
func (u *Reader) MainPID(ctx context.Context, name string) int {
	return u.serviceNumber(ctx, name, "MainPID")
}

// serviceNumber is a number that systemd has of a service, or 0.
func (u *Reader) serviceNumber(ctx context.Context, name, property string) int {
	b, err := u.connect(ctx)
	if err != nil {
		return 0
	}
	var v dbus.Variant
	if b.conn.Object(managerName, unitPath(name)).CallWithContext(ctx, properties+"Get", noAutoStart,
		managerName+".Service", property).Store(&v) != nil {
		return 0
	}
	return integer(v)
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
