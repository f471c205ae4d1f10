package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// A rollback restores what a later generation changed: a file that was there before, and a sysctl.
// A rollback without room on the disk fails, and has no effect later when there is room again, also
// beside a daemon. The lines that keep it: pkg/reconcile/ownership/give_back.go;
// pkg/reconcile/rollback.go, Rollback (aborted).
func TestRollbackBringsBackOrDoesNothing(t *testing.T) {
	t.Parallel() // the test waits for passes
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("3s") + "interval: 5s\n"}}))
	n.Shell(ctx, "mkdir -p /var/lib/netwright; mount -t tmpfs -o size=160m,mode=700 x /var/lib/netwright; netwright --once || netwright --once")
	const look = "cat /etc/hosts /proc/sys/net/ipv4/ip_default_ttl; stat -c '%a %U' /etc/hosts"
	was := n.Shell(ctx, look)
	const document = "/srv/netwright/" + cluster + "/cluster.yaml"
	n.Write(document, strings.Replace(good, "  networking:",
		"  sysctlParameters: [net.ipv4.ip_default_ttl=77]\n  fileAssets:\n"+assetFile("/etc/hosts", "127.0.0.1 localhost\n")+"  networking:", 1), 0o644)
	n.Must(ctx, "netwright", "--once")
	bad := n.Shell(ctx, look)
	if bad == was {
		t.Fatal("the second generation changes nothing")
	}
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	n.Shell(ctx, "dd if=/dev/zero of=/var/lib/netwright/full bs=4k 2>/dev/null || true")
	if res := n.Run(ctx, "netwright", "rollback", "1"); res.Code != 1 {
		t.Errorf("a rollback without room: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	// The agent reports a newer generation that it cannot record, and does not apply it. kubelet
	// may start: pkg/reconcile/rollout/update.go, unnoted.
	second := n.Read(document)
	n.Write(document, strings.Replace(second, "ttl=77", "ttl=78", 1), 0o644)
	until(t, n, "the daemon says what it cannot note", "netwright status | grep -q 'waits.*this node cannot record when the wait began: .*no space'")
	n.Must(ctx, "timeout", "60", "systemctl", "restart", "netwright-agent") // returns at READY
	until(t, n, "the next daemon says so, too", "netwright status | grep -q 'this node cannot record when the wait began'")
	n.Write(document, second, 0o644)
	n.Shell(ctx, "rm /var/lib/netwright/full")
	time.Sleep(3 * 5 * time.Second) // three passes
	if now, history := n.Shell(ctx, look), n.Must(ctx, "netwright", "history"); now != bad || strings.Contains(history, "held at") {
		t.Errorf("the failed rollback had a later effect:\n%s\n%s", now, history)
	}
	n.Must(ctx, "netwright", "rollback", "1")
	if now := n.Shell(ctx, look); now != was {
		t.Errorf("after the rollback:\n%s\nwant:\n%s", now, was)
	}
	n.Must(ctx, "netwright", "resume", "--apply")
	if now := n.Shell(ctx, look); now != bad {
		t.Errorf("after resume:\n%s\nwant:\n%s", now, bad)
	}
}
