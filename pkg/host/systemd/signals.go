package systemd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Signals watches systemd, on a connection of its own. A unit that is new to systemd, or forgotten
// by it, is no news: to look at one that nobody uses is enough for both, and a look that is
// answered by a signal would never end.
type Signals struct {
	Units   *Reader
	Changed func(what string) // a unit, or "unit files", or "daemon-reload"
	Files   func()            // is called before Changed when unit files, or links to them, may be others
	Lost    func(error)       // the connection ended: nothing is watched before the next [Signals.Listen]

	bus   *Bus
	aim   atomic.Pointer[unitAim]
	asked map[string]bool // what is subscribed to at the message bus
}

// unitAim is the units that matter, by their objects.
type unitAim map[dbus.ObjectPath]string

// Listen replaces the units that are listened for; none of them closes the connection.
func (u *Signals) Listen(units []string) (err error) {
	aim := unitAim{}
	for _, name := range units {
		aim[unitPath(name)] = name
	}
	if !u.Units.Here || len(aim) == 0 {
		return u.Close()
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), busTimeout, errBusSilent)
	defer cancel()
	if u.bus == nil || !u.bus.conn.Connected() {
		_ = u.Close() // it has ended
		if u.bus, err = dialBus(ctx, u.Units.Socket, u.Units.Private, u); err != nil {
			u.bus = nil
			return err
		}
		u.asked = map[string]bool{}
	}
	u.aim.Store(&aim)
	if u.Units.Private {
		return nil // systemd sends those who are connected to it everything (dbus.c, bus_foreach_bus)
	}
	return u.subscribe(ctx, aim)
}

// subscribe asks the message bus for the signals of systemd as a whole and of the units that
// matter, and of no others: every container is a unit.
func (u *Signals) subscribe(ctx context.Context, aim unitAim) error {
	const sender = "type='signal',sender='org.freedesktop.systemd1',"
	match := func(rule string) error {
		if u.asked[rule] {
			return nil
		}
		if err := u.bus.match(ctx, sender+rule); err != nil {
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
		if answer, _ := errors.AsType[dbus.Error](err); answer.Name != "org.freedesktop.systemd1.AlreadySubscribed" {
			return fmt.Errorf("listen to systemd: %w", sys.Cause(ctx, err))
		}
	}
	return nil
}

// Close ends the connection.
func (u *Signals) Close() error {
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

// signal is called by the connection's reader: it does not block.
func (u *Signals) signal(name string, s *dbus.Signal) {
	aim := u.aim.Load()
	if aim == nil {
		return
	}
	switch name {
	case "PropertiesChanged":
		if unit, ok := (*aim)[s.Path]; ok {
			u.Changed(unit)
		}
	case "UnitFilesChanged":
		u.Files()
		u.Changed("unit files")
	case "Reloading":
		if len(s.Body) == 1 && s.Body[0] == false { // it has ended
			u.Files()
			u.Changed("daemon-reload")
		}
	}
}

// hungUp is called likewise at the connection's end: systemd closes its connections when it
// executes itself anew.
func (u *Signals) hungUp() {
	if u.aim.Load() != nil {
		u.Lost(errBusLost)
	}
}
