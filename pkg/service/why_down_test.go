package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/test/needs"
)

// If somebody removed a daemon's socket, the daemon does not hang, and the error says what to do.
func TestUnheard(t *testing.T) {
	needs.Root(t)
	opt := host.Options{Root: t.TempDir()}
	active := systemd.UnitState{Active: "active", Sub: "running"}
	if why, do := whyUnreached(opt, active); !strings.Contains(why, "its socket /run/netwright/status.sock was removed") || do != "systemctl restart netwright-agent makes /run/netwright again" {
		t.Errorf("whyUnreached returns %s, %s, want %q", why, do, "systemctl restart netwright-agent makes /run/netwright again")
	}
	if why, _ := whyUnreached(opt, systemd.UnitState{Active: "activating"}); !strings.Contains(why, "is activating, and its status socket does not answer") {
		t.Errorf("one that is just starting: %s", why)
	}
	if err := os.MkdirAll(filepath.Join(opt.Root, publish.Dir), 0o700); err != nil {
		t.Fatal(err)
	}
	socket, err := ipc.Listen(opt.Files(), publish.FeedSocket)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if why, do := whyUnreached(opt, active); !strings.Contains(why, "is active, and its status socket does not answer") || !strings.HasPrefix(do, "journalctl") {
		t.Errorf("one that does not answer: %s: %s", why, do)
	}
}
