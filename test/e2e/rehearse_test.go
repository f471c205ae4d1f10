package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// /var/lib/netwright is mounted noexec, so the copy of the agent cannot run. The installed program
// undoes what a killed agent left, at once and at the boot. Where that program cannot be run
// either, the change is not made. The lines that keep it: pkg/checkpoint/rehearse.go;
// pkg/host/systemd/transient_units.go, TryService; systemd/netwright-undo.service, both lines of
// ExecStart.
func TestUndoWhereTheCopyCannotRun(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("3s"), "/etc/fstab": "/var/lib/netwright /var/lib/netwright none bind,noexec 0 0\n"}}))
	n.Shell(ctx, "netwright --once || netwright --once; cp /bin/true /var/lib/netwright/true; if /var/lib/netwright/true; then exit 9; fi; rm /var/lib/netwright/true")
	routes := n.Shell(ctx, "ip route; ip -6 route")
	bad, made := badRoute(good)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", bad, 0o644)

	// Neither program can run: not the copy, and not the installed one.
	n.Shell(ctx, "cp /usr/bin/netwright /run/agent; mount --bind /usr/bin/netwright /usr/bin/netwright; mount -o remount,bind,noexec /usr/bin/netwright")
	res := n.Run(ctx, "/run/agent", "--once")
	if said := res.Stdout + res.Stderr; res.Code != 1 || !strings.Contains(said, "nothing could undo the change") {
		t.Errorf("exit %d:\n%s", res.Code, said)
	}
	if now := n.Shell(ctx, "ip route; ip -6 route; ls /var/lib/netwright/checkpoint/journal.json 2>/dev/null || true"); now != routes {
		t.Errorf("the routes changed, or the journal is left:\n%s\nbefore:\n%s", now, routes)
	}
	n.Shell(ctx, "umount /usr/bin/netwright")

	n.Start(ctx, "acting", "/bin/sh", "-c", "until "+made+"; do sleep 0.01; done; systemctl kill --signal=KILL cutting && touch /run/acted")
	n.Start(ctx, "cutting", "netwright", "--once")
	until(t, n, "the agent is killed", "test -e /run/acted")
	until(t, n, "it is undone", "test ! -e /var/lib/netwright/checkpoint/journal.json && ! systemctl is-active -q cutting netwright-undo-now.timer netwright-undo-now.service")
	idle(t, n)
	if now := n.Shell(ctx, "ip route; ip -6 route"); now != routes {
		t.Errorf("not as before:\n%s\nbefore:\n%s", now, routes)
	}

	n.Shell(ctx, "rm /var/lib/netwright/checkpoint/verdict.json")
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(bad, "  networking:", "  fileAssets:\n"+assetFile("/etc/late", "1\n")+"  networking:", 1), 0o644)
	n.Start(ctx, "cutting", "netwright", "--once")
	until(t, n, "the change is made again", made+" && test -e /etc/late && systemctl stop netwright-undo-now.path && systemctl kill --signal=KILL cutting")
	n.Kill()
	n.Boot(ctx)
	until(t, n, "the boot has undone it", "test ! -e /var/lib/netwright/checkpoint/journal.json && test ! -e /etc/late")
	idle(t, n)
	// The journal does not always know the unit of a process that has ended. --unit does not find
	// the line of the process that could not start.
	if log := n.Shell(ctx, "journalctl --sync; journalctl -b --no-pager -o cat | grep -e 'netwright-undo.service: ' -e 'the change was undone'"); !strings.Contains(log, "skipping: Permission denied") || strings.Count(log, "the change was undone {") != 1 {
		t.Errorf("the installed program did not make the undo of the boot:\n%s", log)
	}
}

// The change of an agent is undone as soon as the agent is killed. With this window the
// checkpoint's timer would undo it more than an hour later. The lines that keep it:
// pkg/checkpoint/arm.go, StartWhenGone; pkg/host/systemd/transient_units.go, StartWhenGone.
func TestUndoAsTheAgentIsKilled(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("10m")}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	routes := n.Shell(ctx, "ip route; ip -6 route")
	bad, made := badRoute(good)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", bad, 0o644)
	n.Start(ctx, "cutting", "netwright", "--once")
	until(t, n, "the change is made", made+" && systemctl kill --signal=KILL cutting")
	until(t, n, "it is undone", "test ! -e /var/lib/netwright/checkpoint/journal.json && ! systemctl is-active -q netwright-undo-now.timer netwright-undo-now.path netwright-undo-now.service")
	idle(t, n)
	if now := n.Shell(ctx, "ip route; ip -6 route"); now != routes {
		t.Errorf("not as before:\n%s\nbefore:\n%s", now, routes)
	}
	if left := n.Shell(ctx, "ls /var/lib/netwright/checkpoint"); strings.TrimSpace(left) != "verdict.json" {
		t.Errorf("left of the checkpoint:\n%s", left)
	}
}
