package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// The agent alone converged two nodes. Their kubelets report that they are Ready and run pods. The
// pods answer their kubelets' probes, and reach each other across nodes, each under its own
// address.
func TestKubernetesKubelet(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := newKubelets(t, "    bridge: {}\n")
	k.ready()
	for i, n := range k.nodes {
		if pods := k.node(n).Status.Capacity["pods"]; pods.Value() != 42 {
			t.Errorf("%s has room for %s pods, want the 42 of the documents", n.Name(), pods.String())
		}
		// systemd starts kubelet after the agent has said READY=1.
		n.Shell(ctx, `test $(systemctl show -P ActiveEnterTimestampMonotonic netwright-agent) -le $(systemctl show -P ExecMainStartTimestampMonotonic kubelet)`)
		k.pod(fmt.Sprintf("web-%d", i+1), n, fmt.Sprintf(", hostPort: 3008%d", i+1))
	}
	for i, n := range k.nodes {
		told(k.Server, n.Name(), "True Converged")
		own, other := k.address("default", fmt.Sprintf("web-%d", i+1)), k.address("default", fmt.Sprintf("web-%d", 2-i))
		got, ok := k.get(n, fmt.Sprintf("web-%d", i+1), fmt.Sprintf("http://%s:8080/", other))
		if want := fmt.Sprintf("web-%d %s", 2-i, own); !ok || got != want {
			t.Errorf("%s: pod to pod: %q, want %q", n.Name(), got, want)
		}
		if route := n.Must(ctx, "ip", "route", "get", other.String()); !strings.Contains(route, "via "+k.nodes[1-i].Address()+" dev host0") {
			t.Errorf("%s reaches the other's pods by %s", n.Name(), route)
		}
	}
}
