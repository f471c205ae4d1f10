package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/pki"
)

// The agent reports a reload that fails. A change for a unit that is not part of the network stays,
// and the next pass makes the reload again. A unit of the network has not acted on the change, so
// the change is undone. The undo completes also if the unit fails to reload in it, too.
//
// The lines that keep it: pkg/reconcile/starts/reloads.go, failedReload and Unread;
// pkg/reconcile/carry_out.go, awaitStarts (Enqueue); pkg/checkpoint/undo/restore_units.go, reload;
// pkg/checkpoint/verdict.go, judge (agentEnded).
func TestReloadsThatFail(t *testing.T) {
	t.Parallel() // the test waits for probes
	ctx := t.Context()
	ca := pki.New(t, "ca")
	s := newStore(t, bridgeSpec, map[string]string{
		"nodegroups/nodes.yaml": document("NodeGroup", "nodes", "  role: ControlPlane\n"),
		"pki/issued/ca/1.crt":   ca.PEM, "pki/private/ca/1.key": ca.Key(),
	})
	s.write(t, "nodes/node-1.yaml", goodNode(goodPods))
	certificates := bridgeSpec + atOnce + s.pluginSpec(t) + "  certificates:\n"
	certificate := func(dir, unit string) string {
		certificates += "  - {name: of-" + unit[:3] + ", source: ca, ca: ca, dir: " + dir + ", names: [\"${Node}\"], lifetime: 1h, reload: [" + unit + "]}\n"
		return document("Cluster", cluster, certificates)
	}
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+atOnce+s.pluginSpec(t)))
	const unit = "[Service]\nExecStart=/bin/sleep infinity\nExecReload=test -e /run/takes\n"
	n := serve(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("6s"), "/etc/systemd/system/consumer.service": unit, "/etc/systemd/system/nftables.service": unit,
	}}))
	n.Shell(ctx, "systemctl start consumer nftables; netwright --once || netwright --once")
	fails := func(document, said string) {
		t.Helper()
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document, 0o644)
		if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, said) {
			t.Errorf("exit %d, want %q:\n%s%s", res.Code, said, res.Stdout, res.Stderr)
		}
	}
	fails(certificate("/etc/one", "consumer.service"), "consumer.service: its reload failed (exit-code)")
	n.Shell(ctx, "test -d /etc/one; touch /run/takes; netwright --once")
	nothingToDo(t, n)

	n.Must(ctx, "rm", "/run/takes")
	fails(certificate("/etc/two", "nftables.service"), "undone: nftables.service: its reload failed (exit-code)")
	n.Shell(ctx, "test ! -e /etc/two; test ! -e /var/lib/netwright/checkpoint/journal.json; grep 'reload unit nftables.service: failed' /var/lib/netwright/checkpoint/verdict.json | grep -q '\"unsure\":\"no probe failed\"'")
}

// Where NetworkManager fails to reload, an undo restarts it and completes. A reset reports that the
// reload failed. The lines that keep it: pkg/checkpoint/undo/restore_units.go, reload;
// pkg/reset/phases.go, do (AwaitReloads).
func TestNetworkManagerTakesNoReload(t *testing.T) {
	t.Parallel() // the test waits for probes
	ctx := t.Context()
	n := serve(t).Node(t, manager(t, calicoStore(t)))
	until(t, n, "NetworkManager is up", managed)
	n.Must(ctx, "netwright", "--once")
	until(t, n, "NetworkManager is up", managed)
	n.Write("/etc/netwright/agent.yaml", agentFile("6s"), 0o644)
	n.Write("/run/systemd/system/NetworkManager.service.d/deaf.conf", "[Service]\nExecReload=\nExecReload=/bin/false\n", 0o644)
	n.Must(ctx, "systemctl", "daemon-reload")
	before := n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "NetworkManager")
	const file = "/etc/NetworkManager/conf.d/50-other.conf"
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, calicoSpec+"  fileAssets:\n"+assetFile(file, "[main]\n")), 0o644)
	res := n.Run(ctx, "netwright", "--once")
	if said := res.Stdout + res.Stderr; res.Code != 1 || !strings.Contains(said, "undone: NetworkManager.service: its reload failed (exit-code)") {
		t.Errorf("exit %d:\n%s", res.Code, said)
	}
	n.Shell(ctx, "test ! -e "+file+"; test ! -e /var/lib/netwright/checkpoint/journal.json")
	if after := n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "NetworkManager"); after == before {
		t.Error("NetworkManager was not started anew")
	}
	until(t, n, "NetworkManager is up", managed)

	if res := n.Run(ctx, "netwright", "reset"); res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "NetworkManager.service: its reload failed (exit-code)") {
		t.Errorf("a reset: exit %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	n.Shell(ctx, "test ! -e /etc/NetworkManager/conf.d/zz-netwright.conf; netwright reset")
}
