package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// units reads and drives systemd over D-Bus. It connects when first asked.
type units struct {
	here    bool   // systemd runs here and may be talked to
	socket  string // the bus
	private bool   // it is systemd's private socket

	mu  sync.Mutex
	bus *bus
}

func openUnits(opt Options) *units {
	u := &units{socket: systemSocket}
	if opt.bus != "" {
		u.here, u.socket = true, opt.bus
		return u
	}
	// As sd_booted(3) does.
	_, err := os.Stat("/run/systemd/system")
	u.here = opt.live() && !opt.Sandbox && err == nil
	if os.Geteuid() == 0 && unix.Access(privateSocket, unix.W_OK) == nil {
		u.socket, u.private = privateSocket, true
	}
	return u
}

func (u *units) close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bus == nil {
		return nil
	}
	err := u.bus.conn.Close()
	u.bus = nil
	if err != nil {
		return fmt.Errorf("close the connection to systemd: %w", err)
	}
	return nil
}

// connect returns the connection, made anew when the last one ended (systemd
// re-executed itself). [ErrNotHere] where no systemd may be talked to.
func (u *units) connect(ctx context.Context) (*bus, error) {
	if !u.here {
		return nil, ErrNotHere
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bus != nil && u.bus.conn.Connected() {
		return u.bus, nil
	}
	b, err := dialBus(ctx, u.socket, u.private)
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w: run as root, or as a user whom the system bus lets in", err)
	case err != nil:
		return nil, fmt.Errorf("%w: is systemd running, and dbus beside it?", err)
	}
	if err := b.listen(ctx, u.private); err != nil {
		return nil, errors.Join(err, b.conn.Close())
	}
	u.bus = b
	return b, nil
}

// The properties that a UnitState is made of. They are asked for one by one
// in one go: all of a unit's properties are some 300, and some are dear.
const (
	unitIface    = "org.freedesktop.systemd1.Unit"
	serviceIface = "org.freedesktop.systemd1.Service"
	mountIface   = "org.freedesktop.systemd1.Mount"
)

// Unit implements [Units].
func (u *units) Unit(ctx context.Context, name string) (UnitState, error) {
	b, err := u.connect(ctx)
	if err != nil {
		return UnitState{}, fmt.Errorf("look at unit %s: %w", name, err)
	}
	state := UnitState{Name: name}
	q := query{object: b.conn.Object(managerName, unitPath(name)), calls: make(chan *dbus.Call, 16)}
	q.get(ctx, unitIface, "LoadState", &state.Load)
	q.get(ctx, unitIface, "ActiveState", &state.Active)
	q.get(ctx, unitIface, "SubState", &state.Sub)
	q.get(ctx, unitIface, "NeedDaemonReload", &state.NeedReload)
	q.get(ctx, unitIface, "FragmentPath", &state.FragmentPath)
	q.get(ctx, unitIface, "DropInPaths", &state.DropIns)
	q.get(ctx, unitIface, "ActiveEnterTimestampMonotonic", &state.ActiveSinceUS)
	var exec []execCommand
	var job struct {
		ID   uint32
		Path dbus.ObjectPath
	}
	q.get(ctx, unitIface, "Job", &job)
	switch {
	case strings.HasSuffix(name, ".service"):
		q.get(ctx, serviceIface, "Result", &state.Result)
		q.get(ctx, serviceIface, "ExecStart", &exec)
	case strings.HasSuffix(name, ".mount"):
		q.get(ctx, mountIface, "Result", &state.Result)
	}
	// The property UnitFileState is remembered from the last reload; this is
	// what the links on disk say now.
	fileState := b.conn.Object(managerName, managerPath).
		GoWithContext(ctx, managerIface+"GetUnitFileState", quiet, nil, name)
	if err := q.wait(); err != nil {
		return UnitState{}, fmt.Errorf("look at unit %s: %w", name, explainUnit(err))
	}
	select {
	case <-fileState.Done:
	case <-ctx.Done():
		return UnitState{}, fmt.Errorf("look at unit %s: %w", name, context.Cause(ctx))
	}
	if err := fileState.Store(&state.File); err != nil && !isNoUnit(err) {
		return UnitState{}, fmt.Errorf("look at the files of unit %s: %w", name, explainUnit(err))
	}
	state.Job = job.ID != 0
	if len(exec) > 0 {
		state.ExecStart = strings.Join(exec[0].Argv, " ")
	}
	return state, nil
}

// execCommand is one ExecStart=, as systemd sends it: a(sasbttttuii).
type execCommand struct {
	Path                      string
	Argv                      []string
	IgnoreFailure             bool
	StartUS, StartMono        uint64
	ExitUS, ExitMono          uint64
	PID                       uint32
	ExitCode, ExitStatusValue int32
}

// query asks for several properties of one object without waiting between.
type query struct {
	object dbus.BusObject
	calls  chan *dbus.Call
	into   map[*dbus.Call]any
}

func (q *query) get(ctx context.Context, iface, property string, into any) {
	if q.into == nil {
		q.into = map[*dbus.Call]any{}
	}
	call := q.object.GoWithContext(ctx, "org.freedesktop.DBus.Properties.Get", quiet, q.calls, iface, property)
	q.into[call] = into
}

// wait stores every answer, and returns the first error of them.
func (q *query) wait() error {
	var first error
	for range len(q.into) {
		call := <-q.calls
		var v dbus.Variant
		err := call.Store(&v)
		if err == nil {
			err = v.Store(q.into[call])
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// unitPath is a unit's object: every byte that is no letter or digit becomes
// _xx, and a leading digit too.
func unitPath(name string) dbus.ObjectPath {
	const hex = "0123456789abcdef"
	p := []byte(managerPath + "/unit/")
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if letter || digit && i > 0 {
			p = append(p, c)
			continue
		}
		p = append(p, '_', hex[c>>4], hex[c&15])
	}
	return dbus.ObjectPath(p)
}

// isNoUnit says that systemd knows no file of that name.
func isNoUnit(err error) bool {
	var e dbus.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Name {
	case "org.freedesktop.systemd1.NoSuchUnit",
		"org.freedesktop.DBus.Error.FileNotFound",
		"System.Error.ENOENT":
		return true
	}
	return false
}

// explainUnit says what systemd means, and what to do.
func explainUnit(err error) error {
	var e dbus.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Name {
	case "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.DBus.Error.FileNotFound", "System.Error.ENOENT":
		return fmt.Errorf("%w: %w", e, ErrNotExist)
	case "org.freedesktop.systemd1.UnitMasked":
		return fmt.Errorf("%w: unmask it first, `systemctl unmask`", e)
	case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired":
		return fmt.Errorf("%w: run as root", e)
	}
	return err
}
