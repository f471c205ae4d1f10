package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// ownNetwork is the cluster's spec with a network that another program sets up.
const ownNetwork = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
  networking:
    cni: {}
    switch: {allow: true}
`

// A switch of network removes what the old network had, as the dry run said, and nothing else. A
// rollback restores the old network without the store, and holds the node at it. A resume ends
// that. The lines that keep it: pkg/reconcile/ownership/removals_order.go, arrange;
// pkg/reconcile/desired/pinned.go, Target; pkg/reconcile/rollback.go, Rollback.
func TestSwitchOfNetworkRollbackAndResume(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	n.Must(ctx, "netwright", "--once")
	checkBridgeNode(t, n)
	n.Must(ctx, "ip", "link", "add", "theirs0", "type", "bridge")
	n.Must(ctx, "nft", "add", "table", "ip", "theirs")
	sysctls := n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward", "net.ipv4.ip_local_reserved_ports")

	spec := ownNetwork + s.pluginSpec(t)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, spec), 0o644)
	p := plan(ctx, t, n, 2)
	var gone []string
	for _, step := range p.Steps {
		for _, it := range step.Items {
			if it.Op == "-" {
				gone = append(gone, it.Key)
			}
		}
	}
	conf := slices.IndexFunc(gone, func(key string) bool { return strings.HasPrefix(key, "file:/etc/cni/net.d/") })
	link, table := slices.Index(gone, "link:cbr0"), slices.Index(gone, "nft:ip/netwright")
	route := slices.IndexFunc(gone, func(key string) bool {
		return strings.HasPrefix(key, "route:") && strings.Contains(key, "10.244.2.0/24")
	})
	if conf < 0 || link < 0 || route < 0 || table < 0 || route > link || link > conf {
		t.Errorf("the dry run lists %v: want the route, then the link, then the conf", gone)
	}
	before := n.Snapshot()
	n.Must(ctx, "netwright", "--once")
	if out := n.Shell(ctx, "ip link show cbr0 2>&1 || true"); !strings.Contains(out, "does not exist") {
		t.Errorf("cbr0 is still there: %s", out)
	}
	if out := n.Must(ctx, "nft", "list", "ruleset"); strings.Contains(out, "masquerade") || !strings.Contains(out, "table ip theirs") {
		t.Errorf("nft after the switch:\n%s", out)
	}
	if out := n.Must(ctx, "ip", "route", "show", "10.244.2.0/24"); out != "" {
		t.Errorf("the route to the other node's pods stays: %s", out)
	}
	n.Must(ctx, "ip", "link", "show", "theirs0")
	if after := n.Must(ctx, "sysctl", "-n", "net.ipv4.ip_forward", "net.ipv4.ip_local_reserved_ports"); after != sysctls {
		t.Errorf("shared sysctls changed: %q, before %q", after, sysctls)
	}
	for _, line := range node.Diff(before, n.Snapshot()) {
		if key, _, _ := strings.Cut(strings.TrimPrefix(line, "- file "), ": "); strings.HasPrefix(line, "- file ") && !slices.Contains(gone, "file:"+key) && !strings.HasPrefix(key, "/var/lib/netwright") {
			t.Errorf("removed and not listed: %s", line)
		}
	}
	settled := n.Snapshot()
	n.Must(ctx, "netwright", "--once")
	if diff := quiet(node.Diff(settled, n.Snapshot())); len(diff) > 0 {
		t.Errorf("the next run changed the node:\n%s", strings.Join(diff, "\n"))
	}

	n.Shell(ctx, "mv /srv/netwright /srv/away") // a rollback needs no store
	n.Must(ctx, "netwright", "rollback")
	checkBridgeNode(t, n)
	n.Shell(ctx, "mv /srv/away /srv/netwright")
	if p := plan(ctx, t, n, 0); p.Pinned != "held at revision 1 by root" {
		t.Errorf("the plan says %q", p.Pinned)
	}
	if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "held at revision 1 by root") {
		t.Errorf("history:\n%s", out)
	}
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	if out := n.Must(ctx, "systemctl", "show", "-p", "StatusText", "netwright-agent"); !strings.Contains(out, "held at revision 1 by root") {
		t.Errorf("the daemon does not say that it is held: %s", out)
	}
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	checkBridgeNode(t, n)
	n.Must(ctx, "netwright", "resume")
	n.Must(ctx, "netwright", "--once")
	if out := n.Shell(ctx, "ip link show cbr0 2>&1 || true"); !strings.Contains(out, "does not exist") {
		t.Errorf("after resume cbr0 is still there: %s", out)
	}
}

// Without leave to switch, a pod on the bridge keeps its network, and the conf that the runtime
// needs to remove the pod. With leave both are removed. The lines that keep it:
// pkg/reconcile/migrate/switch.go, decide; pkg/reconcile/retain_last_revision.go, retainNetwork.
func TestPodsKeepTheirNetwork(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	n.Must(ctx, "netwright", "--once")
	n.Shell(ctx, `mkdir -p /var/lib/cni/results && echo '{}' > /var/lib/cni/results/netwright-pod-eth0 &&
		ip link add veth-pod type veth peer name veth-in && ip link set veth-pod master cbr0`)
	plugins := s.pluginSpec(t)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, strings.Replace(ownNetwork, "allow: true", "allow: false", 1)+plugins), 0o644)
	if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "the node keeps bridge") {
		t.Errorf("nothing was said of the pod: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	n.Must(ctx, "ip", "link", "show", "cbr0")
	if out := n.Shell(ctx, "ls /etc/cni/net.d; ip -4 address show cbr0; nft list ruleset"); !strings.Contains(out, "conflist") || !strings.Contains(out, "10.244.1.1/24") || !strings.Contains(out, "masquerade") {
		t.Errorf("a pod lost its network:\n%s", out)
	}
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, ownNetwork+plugins), 0o644)
	n.Must(ctx, "netwright", "--once")
	if out := n.Shell(ctx, "ip link show cbr0 2>&1 || ls /etc/cni/net.d"); !strings.Contains(out, "does not exist") || strings.Contains(out, "conflist") {
		t.Errorf("with leave the network stays:\n%s", out)
	}
}

// After a reset the node is as it was before the agent first ran: files with owner, mode, content
// and time, sysctls, links, addresses, routes, rules, nft, units. The lines that keep it:
// pkg/service/stop_daemon.go, StopDaemon; pkg/reset/decide.go, decide; pkg/reset/reset.go,
// times and forget.
func TestResetLeavesNoTrace(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	opt := options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/sysctl.d/99-netwright.conf": "# a person's, of the same name\nnet.ipv4.ip_forward = 0\n",
	}})
	n := node.NewFabric(t).Node(t, opt)
	n.Shell(ctx, "sysctl -qw net.ipv4.tcp_slow_start_after_idle=1; systemctl daemon-reload; true")
	n.Must(ctx, "systemctl", "is-system-running", "--wait")
	units := unitFiles(t, n)
	before := n.Snapshot()

	n.Must(ctx, "netwright", "--once")
	n.Must(ctx, "systemctl", "enable", "--now", "netwright-agent")
	checkBridgeNode(t, n)
	out := n.Must(ctx, "netwright", "reset")

	if state := n.Shell(ctx, "systemctl is-active netwright-agent || true; systemctl is-enabled netwright-agent || true"); state != "inactive\ndisabled\n" {
		t.Errorf("the daemon is %q", state)
	}
	if now := unitFiles(t, n); now != units {
		t.Errorf("units changed:\n%s\nbefore:\n%s", now, units)
	}
	diff := n.Traces(before, n.Snapshot(), systemds)
	if len(diff) > 0 {
		t.Errorf("the reset left traces:\n%s\n%s", strings.Join(diff, "\n"), out)
	}
	n.Must(ctx, "netwright", "--once")
	checkBridgeNode(t, n)
}

// unitFiles lists the node's unit files with their states, without the transient units of the
// test's own commands.
func unitFiles(t *testing.T, n *node.Node) string {
	t.Helper()
	out := n.Must(t.Context(), "systemctl", "list-unit-files", "--no-legend", "--no-pager")
	lines := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return strings.Contains(line, "transient") })
	return strings.Join(lines, "\n")
}

// systemds says whether a path belongs to systemd, or changed since the test itself used systemd.
func systemds(path string) bool {
	for _, dir := range []struct{ path, why string }{
		{"/run/systemd", "about units that ran"},
		{"/etc/systemd/system", "its time changed when the test itself enabled the unit"},
		{"/etc/systemd/system/multi-user.target.wants", "the same"},
		{"/var/lib", "its time changed when systemd made the unit's StateDirectory"},
		{"/var/lib/systemd", "its own"},
		{"/run", "its time changed when systemd made the unit's RuntimeDirectory"},
	} {
		if path == dir.path || strings.HasPrefix(path, dir.path+"/") && dir.path != "/var/lib" && dir.path != "/run" && dir.path != "/etc/systemd/system" {
			return true
		}
	}
	return false
}
