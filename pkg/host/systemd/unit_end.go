package systemd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// UnitEnd describes how the last run of a unit ended.
type UnitEnd struct {
	Result  string // exit-code, signal, timeout …; success
	Code    string // "exit code 3", "signal: killed"; "" if it did not run, or succeeded
	Journal string // its last lines joined to one, or "" if there are none
}

// String returns a short text: "exit-code, exit code 3".
func (e UnitEnd) String() string {
	if e.Code == "" {
		return e.Result
	}
	return e.Result + ", " + e.Code
}

// UnitEnd asks systemd and the journal how a unit's last run ended. Unknown fields are empty. It
// starts nothing.
func (u *Reader) UnitEnd(ctx context.Context, name string) UnitEnd {
	var end UnitEnd
	b, err := u.connect(ctx)
	if err != nil {
		return end
	}
	// Number of looks at a unit that systemd restarts all the time: during a start it shows no end.
	const flaps = 20
	for range flaps {
		own, _ := b.properties(ctx, name, ownInterface(name)) // all of one moment, so of one run
		var code, status, restarts int
		end.Result = ""
		for property, into := range map[string]any{"Result": &end.Result, "ExecMainCode": &code,
			"ExecMainStatus": &status, "NRestarts": &restarts} {
			_ = own.store(property, into) // other kinds of units have none
		}
		end.Code = exitOf(code, status)
		if end.Result != "success" || restarts == 0 || !sys.Sleep(ctx, 50*time.Millisecond) {
			break
		}
	}
	if state, err := u.Unit(ctx, name); err == nil {
		end.Journal = lastJournal(ctx, state)
	}
	return end
}

// OwnUnit returns the unit of this process, or "".
func (u *Reader) OwnUnit(ctx context.Context) (name string) {
	b, err := u.connect(ctx)
	if err != nil {
		return ""
	}
	var at dbus.ObjectPath
	if b.manager(ctx, "GetUnitByPID", uint32(os.Getpid())).Store(&at) == nil {
		_ = b.Property(ctx, managerName, at, unitIface, "Id", &name)
	}
	return name
}

// exitOf describes a process' end as waitid(2) reports it.
func exitOf(code, status int) string {
	const exited, killed, dumped = 1, 2, 3 // CLD_…
	switch {
	case code == exited && status != 0:
		return fmt.Sprintf("exit code %d", status)
	case code == killed, code == dumped:
		return "signal: " + syscall.Signal(status).String()
	}
	return ""
}

// lastJournal returns the last lines that the last run of a unit wrote. If the program could not
// run, these are systemd's lines about it. journald handles lines a moment after systemd knows the
// end. It reads the invocation id from a symlink, which systemd has removed by then, so such a line
// has only the unit's name.
func lastJournal(ctx context.Context, u UnitState) string {
	own := []string{"_SYSTEMD_INVOCATION_ID=" + u.Invocation}
	if u.StartedUS > 0 { // otherwise lines of an earlier unit of this name would match
		began := time.Now().Add(-time.Duration(ClockUS()-u.StartedUS) * time.Microsecond)
		own = append(own,
			fmt.Sprintf("--since=@%d.%06d _SYSTEMD_UNIT=%s", began.Unix(), began.Nanosecond()/1000, u.Name))
	}
	const looks = 5
	for look := range looks {
		of := own
		if look == looks-1 {
			of = append(own, "INVOCATION_ID="+u.Invocation)
		}
		for _, match := range of {
			args := append([]string{"--boot=0", "--no-pager", "--quiet", "--output=cat",
				fmt.Sprintf("--lines=%d", sys.QuotedLines)}, strings.Fields(match)...)
			out, err := sys.Run(ctx, sys.Command{Path: "journalctl", Timeout: 5 * time.Second, Args: args})
			if err != nil {
				return ""
			}
			if text := sys.LastLines(strings.ToValidUTF8(string(out), "?")); text != "" {
				return text
			}
		}
		if !sys.Sleep(ctx, 100*time.Millisecond) {
			break
		}
	}
	return ""
}
