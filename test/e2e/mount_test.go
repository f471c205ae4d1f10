package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// A unit file that was somebody's is there again, as it was, when systemd does not take ours: for
// the file systems that it mounts itself it takes none.
//
// The line that keeps it: pkg/tasks/mount.go, takeBack.
func TestAUnitFileOfOthersComesBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, strings.Replace(bridgeSpec, "bridge: {}", "cilium: {}", 1), nil)
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	const unit, theirs = "/etc/systemd/system/sys-fs-bpf.mount", "[Mount]\nWhat=bpffs\nWhere=/sys/fs/bpf\nType=bpf\nOptions=mode=0700\n[Install]\nWantedBy=multi-user.target\n"
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{unit: theirs}}))
	n.Must(ctx, "chmod", "0640", unit)
	n.Shell(ctx, "d=$(findmnt -no TARGET -T /sys/fs); mount -o remount,bind,rw $d; mkdir -p /sys/fs/bpf") // as on a machine
	looks := func() string { return n.Shell(ctx, "stat -c '%a %U' "+unit+"; cat "+unit) }
	before := looks()
	for range 2 {
		res := n.Run(ctx, "netwright", "--once")
		if res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "systemd takes no unit for it") {
			t.Fatalf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
		if now := looks(); now != before {
			t.Errorf("the unit file is\n%swas\n%s", now, before)
		}
	}
}
