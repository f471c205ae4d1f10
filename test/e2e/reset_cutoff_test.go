package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// far is a server that the node reaches only by a route of ours.
const far = "10.88.0.20"

// A reset that removes what the node needs to be reached is undone. The agent undoes it, or the
// timer if the agent is killed in the middle. The node and the ledger are as before, and the agent
// says so. Where the node stays reachable, the same reset completes without a trace. The lines that
// keep it: pkg/tasks/revert_costs.go, RevertCosts; pkg/reset/phases.go, takeCheckpoint and do
// (guard.Finish); pkg/reconcile/ownership/intend.go, Intend (Around, for the traces of
// the checkpoint itself).
func TestResetThatCutsOffIsUndone(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f := serve(t)
	command(t, "ip", "-n", strings.TrimPrefix(f.Netns(), "/run/netns/"), "addr", "add", far+"/32", "dev", "br0")
	var l net.Listener
	if err := f.Do(func() (err error) {
		l, err = net.Listen("tcp", far+":"+serverPort)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s, good := goodStore(t)
	s.write(t, "cluster.yaml", strings.Replace(good, "    bridge: {}", "    bridge: {nodes: [{name: far, address: "+nearAddress+", podCIDRs: [10.88.0.0/24]}]}\n"+
		"  sysctlParameters: [net.ipv4.ip_default_ttl=64]", 1))
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	conf := func(window string, ports ...string) {
		n.Write("/etc/netwright/agent.yaml", fmt.Sprintf("store: /srv/netwright\ncluster: %s\nnode: node-1\nprobeWindow: %s\nprobes: [%s]\n", cluster, window, strings.Join(ports, ", ")), 0o644)
	}
	near, beyond := "tcp:"+serverAddress+":"+serverPort, "tcp:"+far+":"+serverPort
	n.Shell(ctx, "ip route add unreachable 10.88.0.0/16; sysctl -qw net.ipv4.ip_default_ttl=5") // as a person made them
	pristine := n.Snapshot()
	conf("1m", near)
	n.Shell(ctx, "netwright --once || netwright --once")
	before, claimed := n.Snapshot(), claims(t, n)

	same := func(when string) {
		t.Helper()
		if left := lasting(before, n.Snapshot()); len(left) > 0 {
			t.Errorf("%s: not as before:\n%s", when, strings.Join(left, "\n"))
		}
		if diff := cmp.Diff(claimed, claims(t, n)); diff != "" {
			t.Errorf("%s: the ledger does not say what it said before (-before +after):\n%s", when, diff)
		}
		if left := n.Shell(ctx, "ls /var/lib/netwright/checkpoint"); left != "" {
			t.Errorf("%s: left of the checkpoint, or a generation is held back that nobody applied: %s", when, left)
		}
	}
	undone := func(probe string) {
		t.Helper()
		res := n.Run(ctx, "netwright", "reset")
		said := res.Stdout + res.Stderr
		if res.Code != 1 || !strings.Contains(said, "reset: the change was undone: probe "+probe+" (") || !strings.Contains(said, "The node is as it was") {
			t.Errorf("a reset that cuts off %s: exit %d\n%s%s", probe, res.Code, res.Stdout, res.Stderr)
		}
		same("undone for " + probe)
	}

	conf("3s", beyond)
	before = n.Snapshot() // with this agent.yaml
	undone(beyond)        // removes the route

	const gone = "! ip route show 10.88.0.0/24 | grep -q via"
	n.Start(ctx, "acting", "/bin/sh", "-c", "until "+gone+"; do sleep 0.01; done; systemctl kill --signal=KILL cutting && touch /run/acted")
	n.Start(ctx, "cutting", "netwright", "reset")
	until(t, n, "the route is gone", "test -e /run/acted")
	until(t, n, "the timer has undone it", "test ! -e /var/lib/netwright/checkpoint/journal.json && ! systemctl is-active -q cutting netwright-undo-now.timer netwright-undo-now.service")
	idle(t, n)
	same("killed in the middle")
	if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "by reset; undone: bad: "+beyond) {
		t.Errorf("history:\n%s", out)
	}

	conf("3s", near)
	before = n.Snapshot()
	nft(t, f, "add table inet hops; add chain inet hops in { type filter hook input priority 0; }; add rule inet hops in ip saddr 10.77.0.11 ip ttl < 60 drop")
	undone(near) // resets the sysctl
	nft(t, f, "delete table inet hops")

	conf("1m", near)
	n.Shell(ctx, "rm /run/acted")
	out := n.Must(ctx, "netwright", "reset")
	left := n.Traces(pristine, n.Snapshot(), func(path string) bool {
		return systemds(path) || strings.HasPrefix(path, "/srv/") || strings.HasPrefix(path, "/etc/netwright")
	})
	if len(left) > 0 {
		t.Errorf("left of a reset that goes through:\n%s\n%s", strings.Join(left, "\n"), out)
	}
}
