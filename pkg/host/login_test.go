package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// A login is known by its scope, wherever the hierarchy of control groups begins.
func TestSessionScope(t *testing.T) {
	for groups, want := range map[string]string{
		"0::/user.slice/user-0.slice/session-3.scope\n":                                "session-3.scope",
		"1:name=systemd:/machine/n1/user.slice/user-0.slice/session-c1.scope\n0::/x\n": "session-c1.scope",
		"0::/user.slice/user-1000.slice/session-7.scope/tmux\n":                        "session-7.scope",
		"12:cpu:/\n1:name=systemd:/system.slice/ssh.service\n":                         "",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/session.slice/x\n": "",
		"0::/system.slice/session-recorder.service\n":                                  "",
	} {
		if got := sessionScope(groups); got != want {
			t.Errorf("%q: %q, want %q", groups, got, want)
		}
	}
}

// Without a scope a login is as old as the process that its service started for it: a connection of
// sshd, or the shell at a console. A process that systemd itself started belongs to no login.
func TestLoginByParents(t *testing.T) {
	type chain []string // from the command upwards: "name parent started", with numbers from 10
	for name, c := range map[string]struct {
		chain
		want string
	}{
		"ssh with sudo":          {chain{"agent 90", "sudo 89", "bash 52", "sshd 51", "sshd 50", "sshd 1"}, "sshd 50s"},
		"ssh by a socket":        {chain{"agent 90", "bash 52", "sshd 51", "sshd 50"}, "sshd 51s"},
		"a console":              {chain{"agent 90", "sudo 89", "bash 60", "login 1"}, "bash 60s"},
		"one more channel":       {chain{"agent 90", "bash 89", "sshd 20", "sshd 1"}, "sshd 20s"},
		"from outside":           {chain{"agent 90", "sh 88", "outside"}, "sh 88s"},
		"a service":              {chain{"agent 90"}, ""},
		"what a service started": {chain{"agent 90", "sh 80"}, "agent 90s"},
	} {
		look := func(pid int) (sys.Stat, error) {
			i := pid - 10
			var program string
			var seconds int
			if _, err := fmt.Sscanf(c.chain[i], "%s %d", &program, &seconds); err != nil {
				return sys.Stat{}, err
			}
			a := sys.Stat{Name: program, Parent: pid + 1, Started: uint64(seconds) * 100}
			if i == len(c.chain)-1 {
				a.Parent = 1
			} else if c.chain[i+1] == "outside" {
				a.Parent = 0
			}
			return a, nil
		}
		login, err := loginByParents(10, look)
		got := ""
		if err == nil {
			program, _, _ := strings.Cut(login.Name, " ")
			got = fmt.Sprintf("%s %s", program, shortSeconds(login.Began))
		} else if !errors.Is(err, ErrNoLogin) {
			t.Fatalf("got %v, want %v", err, ErrNoLogin)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func shortSeconds(d time.Duration) string { return fmt.Sprintf("%ds", int(d.Seconds())) }

// The kernel's data of this process are read correctly.
func TestStatOf(t *testing.T) {
	self, err := sys.StatOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	age := Uptime() - self.Began()
	if self.Parent != os.Getppid() || self.State != "R" && self.State != "S" || age < 0 || age > time.Hour || self.Name == "" {
		t.Errorf("%+v, %s old; the parent is %d", self, age, os.Getppid())
	}
	if _, err := sys.StatOf(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nobody: %v", err)
	}
}
