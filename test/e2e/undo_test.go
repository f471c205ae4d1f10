package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// claims returns the entries of the node's ledger as text, by key. It leaves out members of
// archives, since an undo leaves these files in place.
func claims(t *testing.T, n *node.Node) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(n.Read("/var/lib/netwright/journal")) {
		kind, value := line[9], strings.TrimSpace(line[11:])
		switch kind {
		case 'p':
			var e struct {
				Key string `json:"key"`
			}
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatalf("the ledger: %v in %s", err, line)
			}
			out[e.Key] = value
		case 'x':
			delete(out, strings.Trim(value, `"`))
		}
	}
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, "file:/opt/cni/bin/") })
	return out
}

// badRoute returns the good cluster's document with a route that cuts the node off from the server,
// and a condition that is true when the route is there.
func badRoute(good string) (text, made string) {
	return strings.Replace(good, cuts[0].edit[0], cuts[0].edit[1], 1), cuts[0].made
}

// The timer, the boot unit and the agent itself begin an undo at the same time. One of them undoes
// the change, and the others find nothing to do. The lines that keep it: pkg/checkpoint/undo.go,
// Undo (Lock, and Pending after it); pkg/host/process.go, EndProcess.
func TestUndosAtOnce(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("1m")}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	before, claimed := n.Snapshot(), claims(t, n)
	bad, made := badRoute(good)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", bad, 0o644)
	n.Start(ctx, "cutting", "netwright", "--once")
	until(t, n, "the change is made", made)
	n.Shell(ctx, `cp /var/lib/netwright/checkpoint/agent /run/undo
for i in 1 2 3; do /run/undo undo >/run/undone.$i 2>&1 & done
systemctl start --no-block netwright-undo-now.service netwright-undo.service
wait`)
	until(t, n, "all of them have ended", "! systemctl is-active -q cutting netwright-undo-now.timer netwright-undo-now.service && ! systemctl list-jobs netwright-undo.service | grep -q netwright")
	idle(t, n) // a service of one shot is not active while it runs
	out := n.Shell(ctx, "cat /run/undone.*; journalctl --sync; journalctl -b --no-pager -o cat -u netwright-undo-now -u netwright-undo")
	if got := strings.Count(out, "the change was undone"); got != 1 {
		t.Errorf("undone %d times:\n%s", got, out)
	}
	if verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json"); !strings.Contains(verdict, `"bad":true`) || !strings.Contains(verdict, `"tries":1,`) {
		t.Errorf("verdict: %s", verdict)
	}
	if left := lasting(before, n.Snapshot()); len(left) > 0 {
		t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
	}
	if diff := cmp.Diff(claimed, claims(t, n)); diff != "" {
		t.Errorf("the ledger (-before +after):\n%s", diff)
	}
	if left := n.Shell(ctx, "ls /var/lib/netwright/checkpoint"); left != "verdict.json\n" {
		t.Errorf("left of the checkpoint: %s", left)
	}
}

// The daemon is killed in the middle of a checkpoint, and systemd then starts another version that
// fails to start. The stored copy of the agent undoes the change. A daemon that starts later
// neither applies the change again nor works against the undo. It says that the generation is bad,
// and follows the next one. The lines that keep it: pkg/checkpoint/arm.go, copySelf;
// pkg/reconcile/carry_out.go, converge (suppressed).
func TestDaemonIsReplacedInTheMiddle(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("1m")}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	before, claimed := n.Snapshot(), claims(t, n)
	bad, made := badRoute(good)
	document := "/srv/netwright/" + cluster + "/cluster.yaml"
	n.Write(document, bad, 0o644)
	n.Write("/etc/netwright/agent.yaml", agentFile("5s")+"interval: 5s\n", 0o644)
	n.Shell(ctx, "cp /usr/bin/netwright /run/good; printf '#!/bin/sh\\nexit 1\\n' > /run/broken; chmod 755 /run/broken")
	n.Start(ctx, "acting", "/bin/sh", "-c", "until "+made+"; do sleep 0.01; done; systemctl kill --signal=STOP netwright-agent; "+
		"mv /run/broken /usr/bin/broken; mv /usr/bin/broken /usr/bin/netwright; systemctl kill --signal=KILL netwright-agent && touch /run/acted")
	n.Must(ctx, "systemctl", "start", "--no-block", "netwright-agent")
	until(t, n, "the daemon is killed", "test -e /run/acted")
	until(t, n, "the stored copy has undone it", "test -e /var/lib/netwright/checkpoint/verdict.json && test ! -e /var/lib/netwright/checkpoint/journal.json")
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	until(t, n, "nothing of it is left to do", "! systemctl is-active -q netwright-undo-now.timer netwright-undo-now.service")
	idle(t, n)
	check := func(when string) {
		t.Helper()
		left := lasting(before, n.Snapshot())
		left = slices.DeleteFunc(left, func(line string) bool {
			return strings.Contains(line, " file /usr/bin") || strings.Contains(line, " file /etc/netwright/agent.yaml") || strings.Contains(line, "netwright-agent.service")
		})
		if len(left) > 0 {
			t.Errorf("%s the node is not as before:\n%s", when, strings.Join(left, "\n"))
		}
		if diff := cmp.Diff(claimed, claims(t, n)); diff != "" {
			t.Errorf("%s the ledger says (-before +after):\n%s", when, diff)
		}
	}
	check("after the undo")

	n.Shell(ctx, "cp /run/good /usr/bin/netwright; systemctl reset-failed netwright-agent || true; systemctl start --no-block netwright-agent")
	until(t, n, "the daemon says that it does not apply it", "systemctl show -p StatusText netwright-agent | grep -q 'is bad: probe tcp:'")
	check("under a daemon that knows of it")
	if out := n.Shell(ctx, "journalctl --sync; journalctl -b --no-pager -o cat -u netwright-agent -u netwright-undo-now"); strings.Count(out, "checkpoint taken") != 1 || strings.Count(out, "the change was undone {") != 1 {
		t.Errorf("applied or undone more than once:\n%s", out)
	}
	if out := n.Must(ctx, "netwright", "history"); strings.Count(out, "undone: bad: tcp:") != 1 {
		t.Errorf("history:\n%s", out)
	}

	// Another generation is published: the daemon applies it without a command.
	n.Write("/etc/netwright/agent.yaml", agentFile("1m")+"interval: 5s\n", 0o644)
	n.Must(ctx, "systemctl", "restart", "--no-block", "netwright-agent")
	n.Write(document, strings.Replace(good, "  networking:", "  sysctlParameters: [net.ipv4.conf.host0.arp_announce=1]\n  networking:", 1), 0o644)
	until(t, n, "the next generation is applied", "test $(cat /proc/sys/net/ipv4/conf/host0/arp_announce) = 1 && test ! -e /var/lib/netwright/checkpoint/journal.json")
	until(t, n, "the daemon is content", "systemctl show -p StatusText netwright-agent | grep -q 'StatusText=bridge: '")

	// An upgrade comes in the middle. systemd stops the daemon, which decides on the change before
	// it ends. The next version keeps that verdict. The line that keeps it:
	// pkg/checkpoint/finish.go, Finish (WithoutCancel).
	n.Write("/etc/netwright/agent.yaml", agentFile("5s")+"interval: 5s\n", 0o644)
	n.Shell(ctx, "systemctl restart netwright-agent; cp /run/good /run/other; echo >>/run/other")
	until(t, n, "the daemon is content again", "systemctl show -p StatusText netwright-agent | grep -q 'StatusText=bridge: '")
	before, claimed = n.Snapshot(), claims(t, n)
	n.Start(ctx, "upgrading", "/bin/sh", "-c", "until "+made+"; do sleep 0.01; done; mv /run/other /usr/bin/other; mv /usr/bin/other /usr/bin/netwright; systemctl restart --no-block netwright-agent && touch /run/upgraded")
	n.Write(document, strings.Replace(bad, "  networking:", "  sysctlParameters: [net.ipv4.conf.host0.arp_announce=1]\n  networking:", 1), 0o644)
	until(t, n, "the other version runs", "test -e /run/upgraded && cmp /usr/bin/netwright /proc/$(systemctl show -p MainPID --value netwright-agent)/exe")
	until(t, n, "it says that it does not apply it", "systemctl show -p StatusText netwright-agent | grep -q 'is bad: probe tcp:'")
	check("after the upgrade")
	log := n.Shell(ctx, "journalctl --sync; journalctl -b --no-pager -o cat -u netwright-agent -u netwright-undo-now")
	if strings.Count(log, "checkpoint taken") != 3 || strings.Count(log, "the change was undone {") != 2 || strings.Count(log, "was not confirmed and is undone") != 1 {
		t.Errorf("want three checkpoints, of which the stored copy undid the first and the daemon that was told to end the last:\n%s", log)
	}
}
