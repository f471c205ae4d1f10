package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Login is a login to this machine: by ssh, at its console, or into it as a container.
type Login struct {
	Name  string        // the session's scope, or the process that it began with
	Began time.Duration // after the boot, as [Uptime] counts
}

// ErrNoLogin says that a process was started by a service, and not from a login.
var ErrNoLogin = errors.New("it was not started from a login")

// Uptime is the time since the boot, with that in which the machine slept. Nobody sets this clock.
func Uptime() time.Duration { return sys.Uptime() }

// LoginOf finds the login that a process belongs to. [ErrNoLogin]: there is none.
//
// systemd-logind gives each login a scope, and a process stays in it whatever becomes of its
// parents: a shell in an old tmux is of the old login. Where the login has no scope (PAM without
// pam_systemd), it began with the oldest ancestor but the service that let it in. That is the
// connection's process of sshd, and not its shell: one more channel of an old connection proves
// nothing. At a console it is the shell, for login(1) is the getty of the boot by its number.
func LoginOf(ctx context.Context, v View, pid int) (Login, error) {
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return Login{}, fmt.Errorf("find the login of process %d: %w", pid, err)
	}
	if scope := sessionScope(string(groups)); scope != "" {
		unit, err := v.Units.Unit(ctx, scope)
		if err != nil {
			return Login{}, fmt.Errorf("find when %s began: %w", scope, err)
		}
		if unit.ActiveSinceUS > 0 {
			age := time.Duration(systemd.ClockUS()-unit.ActiveSinceUS) * time.Microsecond
			return Login{Name: scope, Began: Uptime() - age}, nil
		}
	}
	return loginByParents(pid, sys.StatOf)
}

// sessionScope is the scope of a login in the text of /proc/PID/cgroup, or "".
func sessionScope(groups string) string {
	for line := range strings.Lines(groups) {
		for at := strings.TrimSpace(line); path.Dir(at) != at; at = path.Dir(at) {
			name := path.Base(at)
			if strings.HasPrefix(name, "session-") && strings.HasSuffix(name, ".scope") {
				return name
			}
		}
	}
	return ""
}

// loginByParents is the oldest ancestor of a process but the service that it came of. What came
// from outside of this machine's processes has the parent 0.
func loginByParents(pid int, look func(pid int) (sys.Stat, error)) (login Login, err error) {
	for pid > 1 {
		a, err := look(pid)
		if err != nil {
			return Login{}, fmt.Errorf("find the login of process %d: %w", pid, err)
		}
		if a.Parent == 1 {
			break
		}
		login = Login{Name: fmt.Sprintf("%s (pid %d)", a.Name, pid), Began: a.Began()}
		pid = a.Parent
	}
	if login.Name == "" {
		return login, ErrNoLogin
	}
	return login, nil
}
