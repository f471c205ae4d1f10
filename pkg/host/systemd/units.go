package systemd

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// UnitState is a unit as systemd sees it.
type UnitState struct {
	Name          string
	ID            string `json:"-"` // its own name, where Name is an alias of it
	Load          string // loaded, not-found, masked, bad-setting
	Active        string // active, inactive, failed, activating …
	Sub           string
	File          string // enabled, disabled, static, masked … ("" if none); of an alias, its unit's
	NeedReload    bool
	FragmentPath  string
	DropIns       []string
	Result        string // how the last run of a failed one ended: exit-code, timeout …
	Job           bool   // a job is queued for it or running
	JobType       string // of that: start, restart, reload, stop …
	JobState      string // waiting (for units that it comes after) or running
	ActiveSinceUS uint64 // CLOCK_MONOTONIC, microseconds
	ChangedUS     uint64 // likewise: when its state last changed, as it does in a reload
	// names this run of it: another one at each start; where systemd has none (before 232),
	// when it was started
	Invocation string
	// Ran says of an inactive unit that there is nothing to start again: it is a oneshot that ran
	// and ended well since it was loaded, or a condition in its file kept it from running.
	Ran bool
	// StartedUS is when it last left its rest, CLOCK_MONOTONIC, microseconds: of one that is coming
	// up, since when.
	StartedUS uint64 `json:"-"`
}

// Reader reads systemd over D-Bus, and starts nothing. It connects when first asked.
type Reader struct {
	Here    bool   // systemd runs here and may be talked to
	Socket  string // the bus
	Private bool   // it is systemd's private socket

	mu     sync.Mutex
	bus    *Bus
	silent error // systemd took a connection and did not answer: it is not waited for again
}

// Open reads systemd, if one runs and may be asked.
func Open(ask bool) *Reader {
	u := &Reader{Socket: SystemSocket}
	// As sd_booted(3) does.
	_, err := os.Stat("/run/systemd/system")
	u.Here = ask && err == nil
	if os.Geteuid() == 0 && unix.Access(PrivateSocket, unix.W_OK) == nil {
		u.Socket, u.Private = PrivateSocket, true
	}
	return u
}

// Close ends the connection.
func (u *Reader) Close() error {
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
// re-executed itself). [sys.ErrNoLiveState] where no systemd may be talked to.
func (u *Reader) connect(ctx context.Context) (*Bus, error) {
	if !u.Here {
		return nil, sys.ErrNoLiveState
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bus != nil && u.bus.conn.Connected() {
		return u.bus, nil
	}
	if u.silent != nil {
		return nil, u.silent
	}
	b, err := dialBus(ctx, u.Socket, u.Private, nil)
	switch {
	case errors.Is(err, errBusSilent):
		u.silent = fmt.Errorf("%w: see what holds it up with `journalctl _PID=1`", err)
		return nil, u.silent
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w: run as root, or as a user whom the system bus lets in", err)
	case err != nil:
		return nil, fmt.Errorf("%w: is systemd running, and dbus beside it?", err)
	}
	if err := b.listen(ctx, u.Private); err != nil {
		return nil, errors.Join(err, b.conn.Close())
	}
	u.bus = b
	return b, nil
}

const (
	unitIface  = "org.freedesktop.systemd1.Unit"
	jobIface   = "org.freedesktop.systemd1.Job"
	properties = "org.freedesktop.DBus.Properties."
)

// unitProperties are what systemd has of a unit.
type unitProperties map[string]dbus.Variant

// properties are all of one interface of a unit, in one message: 0.25 ms for those of every unit,
// where ten single ones take 0.9. Those of a service take 0.8 ms.
func (b *Bus) properties(ctx context.Context, name, iface string) (p unitProperties, err error) {
	err = b.Call(ctx, managerName, unitPath(name), properties+"GetAll", iface).Store(&p)
	return p, err
}

// store reads one into to. One that systemd has not is an error.
func (p unitProperties) store(name string, to any) error {
	v, known := p[name]
	if !known {
		return errors.New("systemd has none")
	}
	return v.Store(to)
}

// UnitChangedUS is [UnitState.ChangedUS] alone.
func (u *Reader) UnitChangedUS(ctx context.Context, name string) (at uint64, err error) {
	b, err := u.connect(ctx)
	if err == nil {
		err = b.Property(ctx, managerName, unitPath(name), unitIface, "StateChangeTimestampMonotonic", &at)
	}
	return at, err
}

// Unit describes a unit. Load "not-found" is no error. [sys.ErrNoLiveState] where no systemd runs.
func (u *Reader) Unit(ctx context.Context, name string) (UnitState, error) {
	state, err := u.look(ctx, name)
	var answer dbus.Error
	if err != nil && !errors.As(err, &answer) && !errors.Is(err, sys.ErrNoLiveState) && ctx.Err() == nil {
		// systemd did not answer at all: it closes its connections when it
		// re-executes itself. A new connection will do.
		if err := u.Close(); err != nil {
			return UnitState{}, err
		}
		state, err = u.look(ctx, name)
	}
	if err != nil {
		return UnitState{}, fmt.Errorf("look at unit %s: %w", name, explainUnit(name, err))
	}
	return state, nil
}

// look is Unit over the connection that there is.
func (u *Reader) look(ctx context.Context, name string) (UnitState, error) {
	b, err := u.connect(ctx)
	if err != nil {
		return UnitState{}, err
	}
	p, err := b.properties(ctx, name, unitIface)
	if err != nil {
		return UnitState{}, err
	}
	state := UnitState{Name: name}
	var job struct {
		ID   uint32
		Path dbus.ObjectPath
	}
	var started, judged uint64
	var allowed bool
	for property, into := range map[string]any{
		"Id": &state.ID, "LoadState": &state.Load, "ActiveState": &state.Active, "SubState": &state.Sub, "UnitFileState": &state.File,
		"NeedDaemonReload": &state.NeedReload, "FragmentPath": &state.FragmentPath, "DropInPaths": &state.DropIns,
		"ActiveEnterTimestampMonotonic": &state.ActiveSinceUS, "Job": &job,
		"StateChangeTimestampMonotonic":  &state.ChangedUS,
		"InactiveExitTimestampMonotonic": &started, "ConditionTimestampMonotonic": &judged, "ConditionResult": &allowed,
	} {
		if err := p.store(property, into); err != nil {
			return UnitState{}, fmt.Errorf("read property %s: %w", property, err)
		}
	}
	if state.Job = job.ID != 0; state.Job {
		// "": it ended meanwhile
		_ = b.Property(ctx, managerName, job.Path, jobIface, "JobType", &state.JobType)
		_ = b.Property(ctx, managerName, job.Path, jobIface, "State", &state.JobState)
	}
	state.StartedUS = started
	var invocation []byte
	if p.store("InvocationID", &invocation) == nil {
		state.Invocation = hex.EncodeToString(invocation)
	} else {
		state.Invocation = strconv.FormatUint(started, 10)
	}
	if state.Active == "failed" {
		state.Result = b.ownText(ctx, name, "Result")
	}
	if state.Active == "inactive" && judged != 0 { // it was to be started since it was loaded
		state.Ran = !allowed || started != 0 && b.ownText(ctx, name, "Type") == "oneshot"
	}
	if state.Load == "not-found" {
		return state, nil
	}
	// UnitFileState is cached by systemd since it loaded the unit; links that were made since,
	// by us or by an earlier run, it does not know. This asks the disk, and takes 0.5 ms.
	err = b.manager(ctx, "GetUnitFileState", name).Store(&state.File)
	if err == nil && state.File == "alias" {
		err = b.manager(ctx, "GetUnitFileState", state.ID).Store(&state.File)
	}
	switch {
	case isNoUnit(err):
		state.File = "" // its file went since; what systemd has cached of it says nothing
	case err != nil:
		return UnitState{}, fmt.Errorf("read its unit file state: %w", err)
	}
	return state, nil
}

// ownText is a text that only units of one's kind have, as the Type of a service and the Result of
// its last run, or "" where the kind has none.
func (b *Bus) ownText(ctx context.Context, name, property string) (text string) {
	_ = b.Property(ctx, managerName, unitPath(name), ownInterface(name), property, &text)
	return text
}

// ownInterface is that of a kind of unit, as org.freedesktop.systemd1.Service.
func ownInterface(name string) string {
	kind := name[strings.LastIndexByte(name, '.')+1:]
	if kind == "" {
		return ""
	}
	return managerName + "." + strings.ToUpper(kind[:1]) + kind[1:]
}

// UnitsLoadedUS is when systemd last read its unit files: CLOCK_MONOTONIC, microseconds. 0 where it
// does not have it (before 250).
func (u *Reader) UnitsLoadedUS(ctx context.Context) (uint64, error) {
	b, err := u.connect(ctx)
	if err != nil {
		return 0, err
	}
	var at uint64
	err = b.Property(ctx, managerName, managerPath, managerIface, "UnitsLoadTimestampMonotonic", &at)
	if _, ok := errors.AsType[dbus.Error](err); ok {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("ask when systemd read its units: %w", err)
	}
	return at, nil
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
	e, _ := errors.AsType[dbus.Error](err)
	switch e.Name {
	case "org.freedesktop.systemd1.NoSuchUnit",
		"org.freedesktop.DBus.Error.FileNotFound",
		"System.Error.ENOENT",
		"System.Error.ELOOP": // its name is a symlink that leads in a circle
		return true
	}
	return false
}

// isUnitThere says that no transient unit is made, since there is a unit of that name.
func isUnitThere(err error) bool {
	e, _ := errors.AsType[dbus.Error](err)
	return e.Name == "org.freedesktop.systemd1.UnitExists"
}

// explainUnit says what systemd means, and what to do. name is the unit, "" where it is about all.
func explainUnit(name string, err error) error {
	e, _ := errors.AsType[dbus.Error](err)
	if isNoUnit(err) {
		return fmt.Errorf("%w: %w", e, fs.ErrNotExist)
	}
	switch e.Name {
	case "org.freedesktop.systemd1.BadUnitSetting":
		return fmt.Errorf("%w: `systemd-analyze verify %s` says which line", e, cmp.Or(name, "UNIT"))
	case "org.freedesktop.systemd1.UnitMasked":
		return fmt.Errorf("%w: unmask it first, `systemctl unmask %s`", e, cmp.Or(name, "UNIT"))
	case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired":
		return fmt.Errorf("%w: run as root", e)
	}
	return err
}

// ClockUS is now, as systemd's monotonic times are: CLOCK_MONOTONIC, microseconds.
func ClockUS() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return uint64(now.Nano()) / 1000
}
