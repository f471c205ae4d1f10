package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// The disk of the agent's state is full, a file of ours is a link to itself, the directory of
// another is one, a third is immutable, and the network is gone. All that is needed comes back,
// READY with it, and each fault is told: also with a newer configuration, which cannot be noted,
// and beside a hook whose checkpoint has no room. With room again all is well, and the newer
// configuration is taken.
func TestFaultsOfTheHostHoldNothingUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	asset := func(path string) string { return "  - {path: " + path + ", content: ours, mode: \"0644\"}\n" }
	doc := document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)+atOnce+"  hooks: [{name: sleeper.service, manifest: \"ExecStart=/bin/sleep 1000000\"}]\n  fileAssets:\n"+
		asset("/etc/looped")+asset("/etc/deep/below")+asset("/etc/fixed"))
	s.write(t, "cluster.yaml", doc)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n"},
	}))
	n.Must(ctx, "netwright", "--once")
	const (
		file   = "/etc/looped"
		fill   = "/var/lib/netwright/fill"
		broke  = "sysctl -qw net.ipv4.ip_forward=0; ip link del cbr0; ln -sfn looped " + file // at once: else its repair comes between
		right  = "[ $(sysctl -n net.ipv4.ip_forward) = 1 ] && ip addr show cbr0 | grep -q 10.244.1.1/24 && grep -q ours " + file
		status = "/run/netwright/status.json"
	)
	tells := func(what, text string) {
		t.Helper()
		until(t, n, what+" is told", "grep -q '"+text+"' "+status)
	}
	ready := func() {
		t.Helper()
		since := strings.TrimSpace(n.Must(ctx, "date", "+@%s.%N"))
		n.Must(ctx, "systemctl", "restart", "netwright-agent") // which returns when it is READY
		if log := n.Shell(ctx, "journalctl --sync; journalctl -b -o cat -u netwright-agent --since "+since); !strings.Contains(log, "prepared: kubelet may start") {
			t.Errorf("kubelet was held back:\n%s", log)
		}
	}
	n.Shell(ctx, "cp -a /var/lib/netwright /root/state; mount -t tmpfs -o mode=0700,size=256m state /var/lib/netwright; cp -a /root/state/. /var/lib/netwright; head -c 400m /dev/zero >"+fill+" || true")
	n.Shell(ctx, broke+"; rm -r /etc/deep; ln -s deep /etc/deep; echo theirs >/etc/fixed; chattr +i /etc/fixed")
	ready()
	until(t, n, "all is right on a full disk", right)
	tells("that it fails", `"state": *"failing"`)
	for what, text := range map[string]string{"the full disk": "no space left", "the immutable file": "chattr -i", "the directory": "/etc/deep"} {
		tells(what, text)
	}

	n.Shell(ctx, broke+"; systemctl stop sleeper.service")
	until(t, n, "all is right again on a full disk", right)
	tells("the hook that is not begun", "it is not begun")

	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", doc+asset("/etc/newer"), 0o644)
	tells("the newer configuration", "it cannot be noted on this node")
	n.Shell(ctx, broke)
	until(t, n, "all is right beside a newer configuration", right)
	n.Shell(ctx, broke)
	ready()
	until(t, n, "all is right beside a newer configuration after a start", right)
	if n.Is(ctx, "test -e /etc/newer") {
		t.Error("what cannot be noted was made")
	}

	n.Shell(ctx, "rm "+fill+" /etc/deep; chattr -i /etc/fixed")
	until(t, n, "nothing is told when there is room", `grep -q '"state": *"converged"' `+status)
	n.Must(ctx, "netwright", "--dry-run")
	until(t, n, "all is made when there is room", right+" && systemctl is-active -q sleeper && grep -q ours /etc/newer /etc/deep/below && ! grep -q theirs /etc/fixed")
}

// On a node that never was right no checkpoint can be taken: what needs one is not made, and READY
// is not told of what is only planned. It is told when all is made. The lines that keep it:
// pkg/reconcile/outcome.go, carryOut; pkg/reconcile/ledger_unwritable.go, restoreOnly;
// pkg/reconcile/changes/prepared.go, Prepared.
func TestWithoutACheckpointNothingIsPrepared(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{}))
	const place = "/var/lib/netwright/checkpoint"
	n.Shell(ctx, "mkdir -p -m 0700 /var/lib/netwright; echo >"+place+"; systemctl start --no-block netwright-agent")
	until(t, n, "it fails", `grep -q '"state": *"failing"' /run/netwright/status.json`)
	if state := n.Must(ctx, "systemctl", "show", "--value", "-p", "ActiveState", "netwright-agent"); state != "activating\n" || n.Is(ctx, "ip link show cbr0") {
		t.Errorf("the agent is %q without a checkpoint: %s", state, n.Must(ctx, "cat", "/run/netwright/status.json"))
	}
	n.Must(ctx, "rm", place)
	until(t, n, "it is READY", "systemctl is-active -q netwright-agent")
	checkBridgeNode(t, n)
}
