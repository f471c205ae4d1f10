package systemd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Signals watches systemd on a connection of its own. It ignores that systemd loads or unloads a
// unit: a mere look at an unused unit causes both, and a look after each such signal would repeat
// for ever.
//
// It listens on the message bus, whose daemon forwards only the signals of the watched units. On
// its private socket systemd sends all signals: each mount of a pod is a unit, whose seven signals
// have hundreds of values. Signals listens there only where no bus answers, or where the bus
// refuses the request.
type Signals struct {
	Units   *Reader
	Bus     string            // the socket of the message bus
	Changed func(what string) // called with a unit, "unit files" or "daemon-reload"
	Files   func()            // called before Changed if unit files may have changed
	Lost    func(error)       // connection ended: call [Signals.Listen] again

	bus     *Bus
	private bool // bus is systemd's private socket
	aim     atomic.Pointer[unitAim]
	asked   map[string]bool // match rules sent to the bus daemon
}

// unitAim has the watched units by their D-Bus objects.
type unitAim map[dbus.ObjectPath]string

// Listen replaces the list of watched units. An empty list closes the connection.
func (u *Signals) Listen(units []string) (err error) {
	aim := unitAim{}
	for _, name := range units {
		aim[unitPath(name)] = name
	}
	if !u.Units.Here || len(aim) == 0 {
		return u.Close()
	}
	if u.bus == nil || !u.bus.conn.Connected() {
		_ = u.Close() // the connection has ended
		u.private = false
	}
	if !u.private {
		err = u.byBus(aim)
	}
	if err != nil {
		_ = u.Close()
		if !u.Units.Private {
			return err
		}
		// Here systemd sends all signals without a request (dbus.c, bus_foreach_bus).
		if u.bus, err = dialBus(context.Background(), u.Units.Socket, true, u); err != nil {
			return err
		}
		u.private = true
	}
	u.aim.Store(&aim)
	return nil
}

// greetLimit is how long the bus daemon may take to answer: repairs wait meanwhile.
const greetLimit = time.Second

// byBus listens on the message bus.
func (u *Signals) byBus(aim unitAim) (err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), busTimeout, errBusSilent)
	defer cancel()
	if u.bus == nil {
		soon, cancel := context.WithTimeoutCause(ctx, greetLimit, errBusSilent)
		defer cancel()
		u.asked = map[string]bool{}
		if u.bus, err = dialBus(soon, u.Bus, false, u); err != nil {
			return err
		}
	}
	u.aim.Store(&aim) // before the first signal
	return u.subscribe(ctx, aim)
}

// subscribe requests from the bus daemon the signals of systemd as a whole and of the watched
// units. Others are left out, because every container is a unit.
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

// Close closes the connection.
func (u *Signals) Close() error {
	if u.bus == nil {
		return nil
	}
	b := u.bus
	u.bus = nil
	u.aim.Store(nil) // so that hungUp does not report this end
	if err := b.conn.Close(); err != nil {
		return fmt.Errorf("close the connection to systemd: %w", err)
	}
	return nil
}

// signal runs in the goroutine that reads the connection, so it must not block.
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
		if len(s.Body) == 1 && s.Body[0] == false { // the reload has ended
			u.Files()
			u.Changed("daemon-reload")
		}
	}
}

// hungUp runs in the same goroutine at the end of the connection: systemd closes its connections
// when it re-executes itself.
func (u *Signals) hungUp() {
	if u.aim.Load() != nil {
		u.Lost(errBusLost)
	}
}
