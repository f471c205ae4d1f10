package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/verify/probe"
)

// clusterDNS asks whom kubelet has pods ask, from the node. It is awaited while no pod with an
// address lives here: the service has nothing behind it before the first nodes take pods.
func (c *checker) clusterDNS(ctx context.Context) {
	const check = "cluster DNS"
	if c.run == nil {
		return
	}
	servers := c.view.Facts.Kubelet.ClusterDNS
	if len(servers) == 0 {
		c.note(check, notApplicable("kubelet on this node names no cluster DNS"))
		return
	}
	for _, server := range servers {
		seen, err := probe.Resolve(ctx, "", server, ClusterName)
		if err == nil {
			c.note(check, well(fmt.Sprintf("%s answers: %s", server, seen)))
			continue
		}
		result := failed
		if pods, err := c.view.Runtime.Pods(ctx); errors.Is(err, host.ErrNoLiveState) || err == nil &&
			!slices.ContainsFunc(pods, addressed) {
			result = waiting
		}
		c.note(check, result(err.Error(),
			Unresolved(err)+"; "+cmp.Or(c.proxy, "kube-proxy is not meant to run here: does what stands for it?")+
				"; is its node reached: `agent verify --traffic --peer` tells"))
	}
}

func addressed(p cri.Pod) bool { return p.Ready && !p.HostNetwork }

// ClusterName is asked of the cluster's DNS: every cluster has it, and any answer will do.
const ClusterName = "kubernetes.default.svc.cluster.local."

// Unresolved says what to look at when cluster DNS does not answer. kube-proxy rejects what is for
// a service that has nothing behind it: a pod gets it by ICMP, the node's own send fails with
// EPERM (net/netfilter/core.c, nf_hook_slow).
func Unresolved(err error) string {
	const pods = "`kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide`"
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPERM) {
		return "a rule refuses it, as kube-proxy does for a service that has nothing behind it that is ready (" + pods +
			")"
	}
	return "does it run (" + pods + ")?"
}
