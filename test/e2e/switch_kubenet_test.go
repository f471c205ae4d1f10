package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
)

// A switch from kubenet needs no leave and removes no pod. With leave it does not wait for the
// pods.
func TestSwitchFromKubenet(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := newSwitchNode(t, "    kubenet: {}\n", "")
	tellPodCIDR(t, n.Node, "10.244.1.0/24")
	web := runPod(ctx, t, n.Node, "web", false)
	n.wants("    bridge: {}\n")
	if p := plan(ctx, t, n.Node, 2); p.Switch == nil || p.Switch.Kind != report.Safe || p.Summary.Waiting == 0 {
		t.Errorf("the plan says %+v, %d waiting", p.Switch, p.Summary.Waiting)
	}
	n.once(3, "--wait", "1s")
	if !n.pings(web) || n.has("ip", "link", "show", "cbr0") {
		t.Fatal("kubenet was not kept while a pod has an address of it")
	}
	n.once(0, "--allow-disruptive")
	if podsOf(ctx, t, n.Node)["web"] || n.has("test", "-e", "/etc/cni/net.d/10-containerd-net.conflist") || n.has("grep", "-q", "conf_template", "/etc/containerd/config.toml") {
		t.Errorf("kubenet is still there:\n%s", n.Run(ctx, "sh", "-c", "ls /etc/cni/net.d; cat /etc/containerd/config.toml").Stdout)
	}
	// kubelet tells the pod CIDR at its start: containerd no longer renders a template for it.
	tellPodCIDR(t, n.Node, "10.244.1.0/24")
	if again := runPod(ctx, t, n.Node, "again", false); !n.pings(again) || !strings.Contains(n.Must(ctx, "ip", "route", "get", again.address.String()), "cbr0") {
		t.Error("a pod on bridge does not answer over cbr0")
	}
}
