package verify

import (
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/cleanup"
)

// proxyHealth is where kube-proxy by default reports whether its rules follow the API
// (--healthz-bind-address): 503 while they are old.
// https://kubernetes.io/docs/reference/networking/virtual-ips/
const proxyHealth = "http://localhost:10256/healthz"

// kubeProxy asks kube-proxy for its health. No answer is a failure only where a document says that
// kube-proxy runs: another program may implement services.
func (c *checker) kubeProxy(ctx context.Context, at string) Result {
	on := c.want.KubeProxy
	if c.run == nil || on != nil && !*on {
		return Result{}
	}
	status, seen, err := askHealth(ctx, at)
	switch {
	case err == nil && status/100 == 2:
		c.proxy = "kube-proxy is healthy here"
		return well(seen)
	case err == nil:
		c.proxy = "kube-proxy is not healthy here"
		return failed(seen,
			"services lead to old endpoints: its log on this node says why (`kubectl -n kube-system logs -l "+
				"k8s-app=kube-proxy`)")
	case on != nil:
		c.proxy = "kube-proxy does not run here"
		return failed(seen,
			"the documents say that it runs (kubeProxy.enabled): check its pods (`kubectl -n kube-system get pods -l "+
				"k8s-app=kube-proxy -o wide`)")
	default:
		c.proxy = "kube-proxy does not answer here, and services need it or its replacement"
		return notApplicable(
			fmt.Sprintf("%s: it does not run here, or answers elsewhere (--healthz-bind-address)", seen))
	}
}

// proxyMode compares the mode that kube-proxy reports with the one in the documents. Where the
// documents say that kube-proxy does not run, a running one is a failure: it and its replacement
// overwrite each other's rules.
func (c *checker) proxyMode(ctx context.Context, at string) Result {
	off := c.want.KubeProxy != nil && !*c.want.KubeProxy
	if c.run == nil || !off && c.want.ProxyMode == "" {
		return Result{}
	}
	mode, err := cleanup.AskMode(ctx, at)
	switch {
	case err == nil && off:
		return failed(fmt.Sprintf("%s says %s: it runs here", at, mode),
			"the documents say that it does not (kubeProxy.enabled): delete its DaemonSet or its static pod; then the "+
				"agent removes what it left")
	case err != nil && !off:
		return notApplicable(
			fmt.Sprintf("whether it runs in mode %s is not known: %v (--metrics-bind-address)", c.want.ProxyMode, err))
	case err != nil:
		return Result{}
	case mode != c.want.ProxyMode:
		return failed(fmt.Sprintf("%s says %s, and the documents say %s", at, mode, c.want.ProxyMode),
			"until they agree, the agent does not remove what other modes left: set --proxy-mode, or mode in its "+
				"ConfigMap, and restart it; or correct kubeProxy.proxyMode")
	default:
		return well(fmt.Sprintf("it runs in mode %s", mode))
	}
}
