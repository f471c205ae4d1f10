package e2e

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// idleKubelet is a unit in kubelet's place that does nothing. The test looks at whether it runs,
// and whether it starts after the agent.
const idleKubelet = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"

// uptimeOfNode gives a node an uptime of its own, which begins anew at a boot: its kernel is that
// of this machine. A pause ends at the latest when a later boot has lasted as long as the pause.
const uptimeOfNode = `[Unit]
DefaultDependencies=no
Before=netwright-agent.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'echo 1.00 1.00 >/run/uptime && mount --bind /run/uptime /proc/uptime'
`

// A changed configuration that restarts containerd waits on a node with a running kubelet, whoever
// restarts the agent. Meanwhile the agent repairs the configuration in force, and applies nothing
// of the new one. A person's command applies it. A boot applies it, too, before kubelet runs,
// unless a freeze forbids it. The agent changes nothing on a paused node, and the pause ends by
// itself. The lines that keep it: pkg/reconcile/rollout/update.go, Take, booting and Effective;
// pkg/reconcile/converge.go, Converge.
func TestAChangedConfigurationWaits(t *testing.T) {
	t.Parallel() // most of the test is waiting
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Enable: []string{"netwright-agent.service", "kubelet.service", "uptime.service"},
		Files: map[string]string{
			"/etc/systemd/system/kubelet.service": idleKubelet,
			"/etc/systemd/system/uptime.service":  uptimeOfNode,
			"/etc/netwright/agent.yaml":           "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n",
		},
	}))
	checkBridgeNode(t, n)
	until(t, n, "kubelet runs", "systemctl is-active -q kubelet")
	publish := func(dir, more string) {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(string(plain), "  networking:\n", more+"  networking:\n    cni: {confDir: "+dir+"}\n", 1), 0o644)
	}
	status := func() report.Status {
		var st report.Status
		if err := json.Unmarshal([]byte(n.Run(ctx, "netwright", "status", "-o", "json").Stdout), &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	containerd := func() string { return n.Must(ctx, "systemctl", "show", "--value", "-p", "InvocationID", "containerd") }
	const waits = "systemctl show -p StatusText netwright-agent | grep -q 'sha256 [0-9a-f]* waits'"
	const drift = "sysctl -qw net.ipv4.ip_forward=0"
	const repaired = "test $(sysctl -n net.ipv4.ip_forward) = 1"

	before := containerd()
	publish("/etc/cni/new", "")
	until(t, n, "it waits", waits)
	n.Shell(ctx, drift)
	until(t, n, "what is in force is repaired", repaired)
	n.Must(ctx, "systemctl", "restart", "netwright-agent")
	until(t, n, "it waits on", waits)
	if now := containerd(); now != before {
		t.Error("containerd was restarted")
	}
	if got := n.Shell(ctx, "grep -rl /etc/cni/new /etc/containerd /etc/cni || true"); got != "" {
		t.Errorf("a part of what waits was applied: %s", got)
	}
	st := status()
	if w := st.Waiting; w == nil || w.Class != "restart" || !strings.Contains(w.Reason, "spec.update.auto (node default) allows at most reload without approval") || st.State != report.NodeWaiting {
		t.Errorf("the status is %s: %s; %+v waits", st.State, st.Reason, w)
	}
	p := plan(ctx, t, n, 2)
	if p.Class != "restart" || p.Waiting == nil {
		t.Errorf("the dry run has the class %q, and %+v waits", p.Class, p.Waiting)
	}
	n.Must(ctx, "netwright", "resume", "--apply")
	if now := containerd(); now == before {
		t.Error("containerd was not restarted")
	}
	n.Must(ctx, "grep", "-rq", "/etc/cni/new", "/etc/containerd")
	if st = status(); st.Waiting != nil || st.State != report.NodeConverged {
		t.Errorf("after a person let it go: %s (%s), %+v waits", st.State, st.Reason, st.Waiting)
	}

	// A paused node is not changed, whoever asks. The pause outlives a boot, and ends by itself.
	n.Must(ctx, "netwright", "pause", "24h", "--reason", "swapping the uplink")
	until(t, n, "everybody hears of it", "systemctl show -p StatusText netwright-agent | grep -q 'paused until .* by root: swapping the uplink'")
	n.Shell(ctx, drift)
	until(t, n, "it is seen", "netwright status -o json | grep -q 'sysctl:net.ipv4.ip_forward'")
	if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stderr, "swapping the uplink; `agent resume` ends that") {
		t.Errorf("--once on a paused node: exit %d %s", res.Code, res.Stderr)
	}
	if st = status(); st.Paused == nil || st.Paused.By != "root" || n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward") != "0\n" {
		t.Errorf("the paused node was changed, or does not say so: %+v", st.Paused)
	}
	publish("/etc/cni/newer", "")
	n.Reboot(ctx)
	until(t, n, "it is paused after the boot", "systemctl show -p StatusText netwright-agent | grep -q 'paused until'")
	until(t, n, "kubelet is not held back", "systemctl is-active -q kubelet")
	n.Must(ctx, "netwright", "pause", "2s", "--reason", "nearly done")
	until(t, n, "it ends by itself", repaired+" && ! systemctl show -p StatusText netwright-agent | grep -q paused")
	until(t, n, "what came in the pause waits, for kubelet runs", waits)

	// A boot applies what waits, but a freeze also holds at a boot.
	publish("/etc/cni/newer", "  update: {freeze: true}\n")
	n.Reboot(ctx)
	until(t, n, "the freeze holds it", waits)
	until(t, n, "kubelet runs with what is in force", "systemctl is-active -q kubelet && ! grep -rq /etc/cni/newer /etc/containerd")
	publish("/etc/cni/newer", "")
	n.Reboot(ctx)
	until(t, n, "the boot takes it", "grep -rq /etc/cni/newer /etc/containerd && systemctl is-active -q kubelet")
	if st = status(); st.Waiting != nil {
		t.Errorf("after the boot %+v waits", st.Waiting)
	}
	checkBridgeNode(t, n)
}
