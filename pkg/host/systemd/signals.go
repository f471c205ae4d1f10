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
// have hundreds of values. Signals listens there only where no bus answers.
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
	ctx, cancel := context.WithTimeoutCause(context.Background(), busTimeout, errBusSilent)
	defer cancel()
	if u.bus == nil || !u.bus.conn.Connected() {
		_ = u.Close() // the connection has ended
		if err := u.connect(ctx); err != nil {
			return err
		}
	}
	u.aim.Store(&aim)
	if u.private {
		return nil // systemd sends all signals on a private connection (dbus.c, bus_foreach_bus)
	}
	return u.subscribe(ctx, aim)
}

// greetLimit is how long the bus daemon may take to answer: repairs wait meanwhile.
const greetLimit = time.Second

// connect connects to the bus, or else to the private socket.
func (u *Signals) connect(ctx context.Context) (err error) {
	u.asked = map[string]bool{}
	soon, cancel := context.WithTimeoutCause(ctx, greetLimit, errBusSilent)
	defer cancel()
	u.private = false
	if u.bus, err = dialBus(soon, u.Bus, false, u); err != nil && u.Units.Private {
		u.private = true
		u.bus, err = dialBus(ctx, u.Units.Socket, true, u)
	}
	if err != nil {
		u.bus = nil
	}
	return err
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
