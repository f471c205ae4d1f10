package verify

import (
	"context"
	"fmt"
)

// checkKubeProxy is the check of what makes the services of a node.
const checkKubeProxy = "kube-proxy"

// proxyHealth is where kube-proxy says by default whether its rules follow the API
// (--healthz-bind-address): 503 while they are old.
// https://kubernetes.io/docs/reference/networking/virtual-ips/
const proxyHealth = "http://localhost:10256/healthz"

// kubeProxy asks kube-proxy how it is. Where nothing answers, another may serve the services, so
// that it is no failure unless a document says that it runs.
func (c *checker) kubeProxy(ctx context.Context, at string) {
	on := c.want.KubeProxy
	if c.run == nil || on != nil && !*on {
		return
	}
	status, seen, err := askHealth(ctx, at)
	switch {
	case err == nil && status/100 == 2:
		c.proxy = "kube-proxy is well here"
		c.add(checkKubeProxy, OK, seen, "")
	case err == nil:
		c.proxy = "kube-proxy is not well here"
		c.add(checkKubeProxy, Failed, seen,
			"services do not follow what is behind them: its log says why (`kubectl -n kube-system logs -l "+
				"k8s-app=kube-proxy`, on this node)")
	case on != nil:
		c.proxy = "kube-proxy does not run here"
		c.add(checkKubeProxy, Failed, seen,
			"the documents say that it runs (kubeProxy.enabled): does it (`kubectl -n kube-system get pods -l "+
				"k8s-app=kube-proxy -o wide`)?")
	default:
		c.proxy = "kube-proxy does not answer here, and without what stands for it no service does"
		c.add(checkKubeProxy, NotApplicable,
			fmt.Sprintf("%s: it does not run here, or answers elsewhere (--healthz-bind-address)", seen), "")
	}
}
