package verify

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
)

// Check checks the host against the needs of its network: the conf in force, the plugins that it
// calls, what the container runtime has loaded, and the network's health checks. It changes
// nothing. With run it starts each plugin with the CNI command VERSION, which has no effect by the
// CNI specification; nil: it starts none. An error means that Check could not read the host, and
// may be retried.
func Check(ctx context.Context, v host.View, run *host.Host, want Expect) ([]Result, error) {
	c := &checker{view: v, run: run, want: want}
	c.note("conf", c.conf())
	c.confMTU()
	c.plugins(ctx)
	c.note("runtime", c.runtime(ctx))
	c.note("kubelet", c.kubelet(ctx))
	c.note("directories", c.directories())
	c.note("addresses", c.addresses(ctx))
	c.note("kube-proxy", c.kubeProxy(ctx, proxyHealth))
	c.note("kube-proxy mode", c.proxyMode(ctx, network.KubeProxy().ModeURL))
	c.clusterDNS(ctx)
	c.note("pods in the log", c.podsLogged(ctx))
	if err := c.healthChecks(ctx); err != nil {
		return nil, err
	}
	return c.results, nil
}
