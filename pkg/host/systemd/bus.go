package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// The sockets of systemd. The private socket answers root without a bus daemon, so also early in
// the boot, before one runs. It is a connection between two peers, so it needs no Hello and no
// match rule.
const (
	PrivateSocket = "/run/systemd/private"
	SystemSocket  = "/run/dbus/system_bus_socket"
)

// Names from org.freedesktop.systemd1(5).
const (
	managerName  = "org.freedesktop.systemd1"
	managerPath  = dbus.ObjectPath("/org/freedesktop/systemd1")
	managerIface = managerName + ".Manager"
)

// noAutoStart means that a message must not start a service that does not run.
const noAutoStart = dbus.FlagNoAutoStart

// Bus is a connection to systemd, with the jobs that callers wait for.
type Bus struct {
	conn     *dbus.Conn
	listener *Signals // gets the signals about units; nil: none

	mu       sync.Mutex
	starting int                               // calls whose job's name may not be known yet
	waiters  map[dbus.ObjectPath][]chan string // several starts of a unit are one job
	early    map[dbus.ObjectPath]string        // results that came before the job's name
	closed   bool
}

// busTimeout limits how long a pass waits for a systemd that does not answer.
const busTimeout = 10 * time.Second

var errBusSilent = fmt.Errorf("it did not answer within %s", busTimeout)

// dialBus connects and authenticates. A private socket gets no Hello.
func dialBus(ctx context.Context, path string, private bool, listener *Signals) (*Bus, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, busTimeout, errBusSilent)
	defer cancel()
	var d net.Dialer
	sock, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", sys.Cause(ctx, err))
	}
	// Authentication and Hello have no context, so the socket's deadline ends them.
	expire := context.AfterFunc(ctx, func() { _ = sock.SetDeadline(time.Unix(1, 0)) })
	defer expire()
	b := &Bus{listener: listener, waiters: map[dbus.ObjectPath][]chan string{}, early: map[dbus.ObjectPath]string{}}
	known, err := authenticate(sock.(*net.UnixConn))
	if err != nil {
		return nil,
			errors.Join(fmt.Errorf("authenticate with systemd at %s: %w", path, sys.Cause(ctx, err)), sock.Close())
	}
	// A context for NewConn would end the connection; this connection lasts until Close.
	b.conn, err = dbus.NewConn(known, dbus.WithSignalHandler(b))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to systemd at %s: %w", path, err), sock.Close())
	}
	err = b.conn.Auth(nil)
	if err == nil && !private {
		err = b.conn.Hello()
	}
	if !expire() {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("greet systemd at %s: %w", path, err), b.conn.Close())
	}
	return b, nil
}

// manager calls a method of systemd's manager.
func (b *Bus) manager(ctx context.Context, method string, args ...any) *dbus.Call {
	return b.Call(ctx, managerName, managerPath, managerIface+"."+method, args...)
}

// listen makes the bus daemon forward JobRemoved. On a private socket systemd sends it without a
// request.
func (b *Bus) listen(ctx context.Context, private bool) error {
	if private {
		return nil
	}
	err := b.match(ctx, "type='signal',interface='"+managerIface+"',member='JobRemoved',path='/org/freedesktop/systemd1'")
	if err == nil {
		err = b.manager(ctx, "Subscribe").Err
	}
	if err != nil {
		return fmt.Errorf("listen for systemd's jobs: %w", err)
	}
	return nil
}

// match makes the bus daemon forward the signals that match a rule.
func (b *Bus) match(ctx context.Context, rule string) error {
	return b.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.AddMatch", noAutoStart, rule).Err
}

// DeliverSignal implements [dbus.SignalHandler]. The goroutine that reads the connection calls it,
// so it must not block.
func (b *Bus) DeliverSignal(_, name string, s *dbus.Signal) {
	if b.listener != nil {
		b.listener.signal(name, s)
	}
	if name != "JobRemoved" {
		return
	}
	var id uint32
	var job dbus.ObjectPath
	var unit, result string
	if dbus.Store(s.Body, &id, &job, &unit, &result) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waiters[job] {
		w <- result // its capacity is one
	}
	delete(b.waiters, job)
	if b.starting > 0 {
		b.early[job] = result
	}
}

// Terminate implements the part of [dbus.SignalHandler] for the end of the connection: it ends all
// waiting.
func (b *Bus) Terminate() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, waiters := range b.waiters {
		for _, w := range waiters {
			close(w)
		}
	}
	clear(b.waiters)
	if b.listener != nil {
		b.listener.hungUp()
	}
}

// job calls a method that queues a job, and waits for the result of the job.
func (b *Bus) job(ctx context.Context, method string, args ...any) (result string, err error) {
	b.mu.Lock()
	b.starting++
	b.mu.Unlock()

	var job dbus.ObjectPath
	err = b.manager(ctx, method, args...).Store(&job)

	wait := make(chan string, 1)
	b.mu.Lock()
	result, done := b.early[job]
	if err == nil && !done && !b.closed {
		b.waiters[job] = append(b.waiters[job], wait)
	}
	lost := b.closed
	if b.starting--; b.starting == 0 {
		clear(b.early)
	}
	b.mu.Unlock()

	switch {
	case err != nil || done:
		return result, err
	case lost:
		return "", errBusLost
	}
	select {
	case result, ok := <-wait:
		if !ok {
			return "", errBusLost
		}
		return result, nil
	case <-ctx.Done(): // the job goes on; nobody reads its result
		return "", context.Cause(ctx)
	}
}

var errBusLost = errors.New("the connection to systemd ended")

// Call calls a method of a running program on the bus. It starts no program.
func (b *Bus) Call(
	ctx context.Context, name string, path dbus.ObjectPath, method string, args ...any,
) *dbus.Call {
	return b.conn.Object(name, path).CallWithContext(ctx, method, noAutoStart, args...)
}

// Property reads a property of an object into to. If there is no such property, to does not change.
func (b *Bus) Property(ctx context.Context, name string, path dbus.ObjectPath, iface, property string, to any) error {
	var v dbus.Variant
	if err := b.Call(ctx, name, path, properties+"Get", iface, property).Store(&v); err != nil {
		return err
	}
	return v.Store(to)
}

// OnSystemBus calls talk with a connection to the system bus.
func OnSystemBus(ctx context.Context, talk func(*Bus) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, busTimeout, errBusSilent)
	defer cancel()
	b, err := dialBus(ctx, SystemSocket, false, nil)
	if err != nil {
		return err
	}
	return errors.Join(talk(b), b.conn.Close())
}
