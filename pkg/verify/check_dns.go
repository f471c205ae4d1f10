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

// clusterDNS queries, from the node, the DNS servers that kubelet configures in pods. While no pod
// with its own address runs here, a failure is only a wait: the DNS service has no endpoints before
// the first nodes run pods.
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
			Unresolved(err)+"; "+cmp.Or(c.proxy, "kube-proxy must not run here: check the program that replaces it")+
				"; `agent verify --traffic --peer` says whether this node reaches the pod's node"))
	}
}

func addressed(p cri.Pod) bool { return p.Ready && !p.HostNetwork }

// ClusterName is the name that the cluster's DNS is asked for. Each cluster has it, and any answer
// is enough.
const ClusterName = "kubernetes.default.svc.cluster.local."

// Unresolved returns what to check when the cluster's DNS does not answer. kube-proxy rejects
// packets for a service without endpoints: a pod gets an ICMP error, and the node's own send fails
// with EPERM (net/netfilter/core.c, nf_hook_slow).
func Unresolved(err error) string {
	const pods = "`kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide`"
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPERM) {
		return "a rule rejects it; kube-proxy adds such a rule for a service without a ready endpoint (" + pods + ")"
	}
	return "check whether its pods run (" + pods + ")"
}
