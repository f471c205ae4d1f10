package host

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// unitWatch hears systemd, on a connection of its own. A unit that is new to systemd, or forgotten by it, is no news: to look at one that nobody uses is enough for both,
// and a look that wakes would never end.
type unitWatch struct {
	w     *Watcher
	units *units
	bus   *bus
	aim   atomic.Pointer[unitAim]
	asked map[string]bool // what the message bus was asked to tell

	relinked func() // is called when unit files, or links to them, may be others
}

// unitAim is the units that matter, by their objects.
type unitAim map[dbus.ObjectPath]string

func newUnitWatch(w *Watcher, opt Options, relinked func()) *unitWatch {
	return &unitWatch{w: w, units: openUnits(opt), relinked: relinked}
}

func (u *unitWatch) name() WakeSource { return WakeUnits }

// unitLook bounds what a set waits for systemd.
const unitLook = busTimeout

func (u *unitWatch) set(i *Interest) (err error) {
	aim := unitAim{}
	for _, name := range i.Units {
		aim[unitPath(name)] = name
	}
	if !u.units.here || len(aim) == 0 {
		return u.close()
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), unitLook, errBusSilent)
	defer cancel()
	if u.bus == nil || !u.bus.conn.Connected() {
		_ = u.close() // what has ended has nothing to tell
		if u.bus, err = dialBus(ctx, u.units.socket, u.units.private, u); err != nil {
			u.bus = nil
			return err
		}
		u.asked = map[string]bool{}
	}
	u.aim.Store(&aim)
	if u.units.private {
		return nil // systemd tells those who are connected to it everything (dbus.c, bus_foreach_bus)
	}
	return u.subscribe(ctx, aim)
}

// subscribe asks the message bus for what is told of systemd as a whole and of the units that matter, and of no others: every container is a unit.
func (u *unitWatch) subscribe(ctx context.Context, aim unitAim) error {
	const sender = "type='signal',sender='org.freedesktop.systemd1',"
	match := func(rule string) error {
		if u.asked[rule] {
			return nil
		}
		if err := u.bus.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.AddMatch", quiet, sender+rule).Err; err != nil {
			return fmt.Errorf("listen to systemd: %w", sys.Cause(ctx, err))
		}
		u.asked[rule] = true
		return nil
	}
	for object := range aim {
		if err := match("member='PropertiesChanged',path='" + string(object) + "'"); err != nil {
			return err
		}
	}
	for _, member := range []string{"Reloading", "UnitFilesChanged"} {
		if err := match("member='" + member + "'"); err != nil {
			return err
		}
	}
	if err := u.bus.manager(ctx, "Subscribe").Err; err != nil {
		var answer dbus.Error
		if !errors.As(err, &answer) || answer.Name != "org.freedesktop.systemd1.AlreadySubscribed" {
			return fmt.Errorf("listen to systemd: %w", sys.Cause(ctx, err))
		}
	}
	return nil
}

func (u *unitWatch) close() error {
	if u.bus == nil {
		return nil
	}
	b := u.bus
	u.bus = nil
	u.aim.Store(nil) // its end is none that anybody waits for
	if err := b.conn.Close(); err != nil {
		return fmt.Errorf("close the connection to systemd: %w", err)
	}
	return nil
}

// signal implements [busEar].
func (u *unitWatch) signal(name string, s *dbus.Signal) {
	aim := u.aim.Load()
	if aim == nil {
		return
	}
	switch name {
	case "PropertiesChanged":
		if unit, ok := (*aim)[s.Path]; ok {
			u.w.wake(WakeUnits, unit, false)
		}
	case "UnitFilesChanged":
		u.relinked()
		u.w.wake(WakeUnits, "unit files", false)
	case "Reloading":
		if len(s.Body) == 1 && s.Body[0] == false { // it has ended
			u.relinked()
			u.w.wake(WakeUnits, "daemon-reload", false)
		}
	}
}

// hungUp implements [busEar]: systemd closes its connections when it executes itself anew.
func (u *unitWatch) hungUp() {
	if u.aim.Load() != nil {
		u.w.lose(WakeUnits, errBusLost)
	}
}

// linkedUnitDirs are where the administrator, and who speaks for the running system, link units: what is enabled and what is masked.
var linkedUnitDirs = []string{"/etc/systemd/system", "/run/systemd/system"}

// usualWants is where most units are linked that are enabled.
const usualWants = "/etc/systemd/system/multi-user.target.wants"

// unitLinks are the paths that say of a unit whether it is enabled and masked: those that are there, the usual one, and those that mask. systemd does not tell who
// makes such links by hand.
func unitLinks(root, name string) (links []string) {
	links = append(links, path.Join(usualWants, name))
	for _, dir := range linkedUnitDirs {
		links = append(links, path.Join(dir, name))
		for _, kind := range []string{"wants", "requires", "upholds"} {
			found, _ := filepath.Glob(path.Join(root, dir, "*."+kind, name)) // the pattern is right
			for _, f := range found {
				links = append(links, path.Join("/", strings.TrimPrefix(f, path.Clean(root))))
			}
		}
	}
	return links
}
