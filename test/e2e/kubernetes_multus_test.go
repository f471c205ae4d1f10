package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// belowMultus puts thick Multus before the flannel of two nodes. The daemon of Multus writes its
// conf from flannel's conf. Pods get the network of their annotation beside the cluster's network.
func belowMultus(t *testing.T, s *kubeapi.Server, nodes [2]*node.Node) {
	t.Helper()
	ctx, d := t.Context(), daemons.NewMultus(t, s)
	var pods [2]*node.Pod
	beside := [2]string{"192.0.2.5", "192.0.2.6"}
	for i, n := range nodes {
		name := fmt.Sprintf("multi-%d", i+1)
		d.Attach(n, name, beside[i]+"/24")
		const document = "/srv/netwright/" + cluster + "/cluster.yaml"
		n.Write(document, strings.Replace(n.Read(document), "    flannel:", "    multus: {mode: thick, delegates: [macvlan, static]}\n    flannel:", 1), 0o644)
		n.Must(ctx, "netwright", "--once")
		verified(ctx, t, n, 1, "the daemon answers: /run/multus/multus.sock is not there")
		d.Start(ctx, n)
		n.Must(ctx, "netwright", "--once", "--wait", "1m")
		verified(ctx, t, n, 0, `containerd has loaded network "multus-cni-network" of 00-multus.conf`)
		pods[i] = n.AddPod(ctx, name, node.PodOptions{})
	}
	talk(ctx, t, nodes, pods)
	for i, pod := range pods {
		if second := pod.Must(ctx, "ip", "-d", "addr", "show", "net1"); !strings.Contains(second, beside[i]+"/24") || !strings.Contains(second, "macvlan") {
			t.Errorf("the link of the annotation is another:\n%s", second)
		}
		pod.Ping(ctx, "-Inet1", beside[1-i])
		if said := s.Must("GET", "/api/v1/namespaces/default/pods/"+pod.Name, ""); !strings.Contains(said, "k8s.v1.cni.cncf.io/network-status") || !strings.Contains(said, beside[i]) {
			t.Errorf("it tells the API of the pod's networks: %s", said)
		}
	}
	leave(ctx, t, nodes, pods, "/var/lib/cni/networks/cbr0")

	n := nodes[0]
	n.Must(ctx, "sh", "-c", "! ls /var/lib/cni/multus/* 2>/dev/null | grep .")
	rerun.Never(t, "a kill")
	n.Must(ctx, "systemctl", "kill", "--signal=KILL", "multus") // Multus removes its conf when it ends by SIGTERM
	verified(ctx, t, n, 1, "the daemon answers: nobody listens at /run/multus/multus.sock")
	d.Start(ctx, n)
	verified(ctx, t, n, 0, "the daemon answers: /run/multus/multus.sock")
}
