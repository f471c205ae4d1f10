package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
)

// clusterDNS asks whom kubelet tells pods to ask, from the node. It is awaited while no pod with an
// address lives here: the service has nothing behind it before the first nodes take pods.
func (c *checker) clusterDNS(ctx context.Context) {
	const check = "cluster DNS"
	if c.run == nil {
		return
	}
	servers := c.view.Facts.Kubelet.ClusterDNS
	if len(servers) == 0 {
		c.add(check, NotHere, "kubelet on this node names no cluster DNS", "")
		return
	}
	for _, server := range servers {
		seen, err := Resolve(ctx, "", server, clusterName)
		if err == nil {
			c.add(check, OK, fmt.Sprintf("%s answers: %s", server, seen), "")
			continue
		}
		state := Failed
		if pods, err := c.view.Runtime.Pods(ctx); errors.Is(err, host.ErrNoLiveState) || err == nil &&
			!anyAddressed(pods) {
			state = Waiting
		}
		c.add(check, state, err.Error(),
			unresolved(err)+"; "+cmp.Or(c.proxy, "kube-proxy is not meant to run here: does what stands for it?")+
				"; is its node reached: `agent verify --traffic --peer` tells")
	}
}

func anyAddressed(pods []cri.Pod) bool {
	for _, p := range pods {
		if p.Ready && !p.HostNetwork {
			return true
		}
	}
	return false
}
