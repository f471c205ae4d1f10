package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// On a /var/lib/netwright that is mounted noexec the installed program undoes what a killed agent left. Where that cannot be run either, the change is not made.
// The lines that keep it: pkg/checkpoint/rehearse.go; pkg/host/units_timer.go, TryService.
func TestUndoWhereTheCopyCannotRun(t *testing.T) {
	t.Parallel() // it waits for the timer
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("3s")}}))
	n.Shell(ctx, "mkdir -p /var/lib/netwright; mount -t tmpfs -o noexec,mode=700 x /var/lib/netwright; netwright --once || netwright --once")
	routes := n.Shell(ctx, "ip route; ip -6 route")
	bad, made := badRoute(good)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", bad, 0o644)

	// Nothing runs: neither the copy nor what is installed.
	n.Shell(ctx, "cp /usr/bin/netwright /run/agent; mount --bind /usr/bin/netwright /usr/bin/netwright; mount -o remount,bind,noexec /usr/bin/netwright")
	res := n.Run(ctx, "/run/agent", "--once")
	if said := res.Stdout + res.Stderr; res.Code != 1 || !strings.Contains(said, "nothing could take the change back") {
		t.Errorf("exit %d:\n%s", res.Code, said)
	}
	if now := n.Shell(ctx, "ip route; ip -6 route; ls /var/lib/netwright/checkpoint/journal.json 2>/dev/null || true"); now != routes {
		t.Errorf("it was changed, or is left armed:\n%s\nbefore:\n%s", now, routes)
	}
	n.Shell(ctx, "umount /usr/bin/netwright")

	n.Start(ctx, "acting", "/bin/sh", "-c", "until "+made+"; do sleep 0.01; done; systemctl kill --signal=KILL cutting && touch /run/acted")
	n.Start(ctx, "cutting", "netwright", "--once")
	until(t, n, "the agent is killed", "test -e /run/acted")
	until(t, n, "the timer has undone it", "test ! -e /var/lib/netwright/checkpoint/journal.json && ! systemctl is-active -q cutting netwright-undo-now.timer netwright-undo-now.service")
	idle(t, n)
	if now := n.Shell(ctx, "ip route; ip -6 route"); now != routes {
		t.Errorf("not as before:\n%s\nbefore:\n%s", now, routes)
	}
}
