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

// Login is a login to this machine: by ssh, at its console, or into a container on it.
type Login struct {
	Name  string        // scope of the session, or the process that it began with
	Began time.Duration // time since the boot, as [Uptime] counts it
}

// ErrNoLogin means that a service started the process, and no login did.
var ErrNoLogin = errors.New("it was not started from a login")

// LoginOf finds the login that a process belongs to. It returns [ErrNoLogin] if there is none.
//
// systemd-logind puts each login into a scope. A process stays in this scope even if its parents
// end: a shell in an old tmux belongs to the old login. If the login has no scope (PAM without
// pam_systemd), the login began with the oldest ancestor below the service that accepted it. For
// ssh this is sshd's process of the connection, not the shell: another channel of an old connection
// proves nothing. At a console it is the shell, because login(1) keeps the PID of the getty, which
// started at boot.
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

// sessionScope finds the scope of a login in the text of /proc/PID/cgroup. It is "" if there is
// none.
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

// loginByParents finds the oldest ancestor of a process below the service that started it. A
// process that comes from outside of this PID namespace has the parent 0.
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
