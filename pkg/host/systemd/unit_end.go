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

// UnitEnd is how the last run of a unit ended.
type UnitEnd struct {
	Result  string // exit-code, signal, timeout …; success of one that ended well
	Code    string // "exit code 3", "signal: killed"; "" where its main process did not run, or ended well
	Journal string // its last lines on one line, or "" where none are kept
}

// String says it in a few words: "exit-code, exit code 3".
func (e UnitEnd) String() string {
	if e.Code == "" {
		return e.Result
	}
	return e.Result + ", " + e.Code
}

// journalLines is how much of a unit's journal an error quotes.
const journalLines = 5

// UnitEnd asks systemd and the journal how a unit's last run ended. Where they do not say, fields
// are empty. It starts nothing.
func (u *Reader) UnitEnd(ctx context.Context, name string) UnitEnd {
	var end UnitEnd
	b, err := u.connect(ctx)
	if err != nil {
		return end
	}
	// looks at one that systemd starts again and again: while it is being started there is no end
	// to see
	const flaps = 20
	for range flaps {
		own, _ := b.properties(ctx, name, ownInterface(name)) // all as they are at one moment, of one run
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

// OwnUnit is the unit that this process is part of, or "".
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

// exitOf says in words what waitid(2) reports of a process.
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

// lastJournal are the last lines that the last run of a unit wrote; of a program that could not be
// run, what systemd says of it. journald gets lines a moment later than systemd gets the end, and
// then reads the invocation from a link that systemd has removed by that time: such a line names
// the unit alone.
func lastJournal(ctx context.Context, u UnitState) string {
	own := []string{"_SYSTEMD_INVOCATION_ID=" + u.Invocation}
	if u.StartedUS > 0 { // else every line of an earlier unit of its name would be one of it
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
				fmt.Sprintf("--lines=%d", journalLines)}, strings.Fields(match)...)
			out, err := sys.Run(ctx, sys.Command{Path: "journalctl", Timeout: 5 * time.Second, Args: args})
			if err != nil {
				return ""
			}
			if text := sys.LastLines(strings.ToValidUTF8(string(out), "?"), journalLines); text != "" {
				return text
			}
		}
		if !sys.Sleep(ctx, 100*time.Millisecond) {
			break
		}
	}
	return ""
}
