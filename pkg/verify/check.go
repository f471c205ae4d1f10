package verify

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model/network"
)

// Check holds the host to what its network needs of it: the conf in force, the plugins that it
// calls, what the runtime has loaded, the network's own signs of life. It changes nothing. With run
// it starts each plugin to ask its VERSION, which CNI promises to have no effect; nil: none is
// started. An error is of the looking itself, and may be retried.
func Check(ctx context.Context, v host.View, run *host.Host, want Expect) ([]Result, error) {
	c := &checker{view: v, run: run, want: want}
	c.note("conf", c.conf())
	c.plugins(ctx)
	c.note("runtime", c.runtime())
	c.note("kubelet", c.kubelet(ctx))
	c.note("directories", c.directories())
	c.note("kube-proxy", c.kubeProxy(ctx, proxyHealth))
	c.note("kube-proxy mode", c.proxyMode(ctx, network.KubeProxy().ModeURL))
	c.clusterDNS(ctx)
	c.note("pods in the log", c.podsLogged(ctx))
	if err := c.healthChecks(ctx); err != nil {
		return nil, err
	}
	return c.results, nil
}
