package daemons

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// KubeRouter is what kube-router's DaemonSet does on nodes, with the API of Kubernetes: routes and
// policy. Services by IPVS are left to kube-proxy, as upstream's manifest for kubeadm has it.
// https://github.com/cloudnativelabs/kube-router/blob/master/daemonset/kubeadm-kuberouter.yaml
type KubeRouter struct {
	t      testing.TB
	server *kubeapi.Server
}

const kubeRouterRules = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: kube-router
  namespace: kube-system
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: kube-router
rules:
- {apiGroups: [""], resources: [namespaces, pods, services, nodes, endpoints], verbs: [list, get, watch]}
- {apiGroups: [networking.k8s.io, extensions], resources: [networkpolicies], verbs: [list, get, watch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
- {apiGroups: [""], resources: [services/status], verbs: [update]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kube-router
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kube-router}
subjects:
- {kind: ServiceAccount, name: kube-router, namespace: kube-system}
`

// The conf of its ConfigMap, in the manifest that has portmap.
// https://github.com/cloudnativelabs/kube-router/blob/master/daemonset/kubeadm-kuberouter-all-features-hostport.yaml
const kubeRouterConf = `{
   "cniVersion":"0.3.0",
   "name":"mynet",
   "plugins":[
      {"name":"kubernetes","type":"bridge","bridge":"kube-bridge","isDefaultGateway":true,"hairpinMode":true,"ipam":{"type":"host-local"}},
      {"type":"portmap","capabilities":{"snat":true,"portMappings":true}}
   ]
}
`

// NewKubeRouter gives kube-router its account.
func NewKubeRouter(t testing.TB, server *kubeapi.Server) KubeRouter {
	t.Helper()
	server.Apply(kubeRouterRules)
	return KubeRouter{t, server}
}

// Join makes the Node object of a node, as the node's kubelet and the controller of pod CIDRs do.
func (d KubeRouter) Join(n *node.Node, pods string) {
	d.t.Helper()
	d.server.Apply(fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata:\n  name: %s\nspec: {podCIDR: %s, podCIDRs: [%[2]s]}\n", n.Name(), pods))
	d.server.Must("PATCH", "/api/v1/nodes/"+n.Name()+"/status", fmt.Sprintf(`{"status": {"addresses": [{"type": "InternalIP", "address": %q}]}}`, n.Address()))
}

// Install does what its init container does: the plugins of its chain, and the conf, to which the
// daemon adds the node's range.
func (d KubeRouter) Install(ctx context.Context, n *node.Node) {
	d.t.Helper()
	for _, name := range []string{"bridge", "host-local", "loopback", "portmap"} {
		n.Copy(assets.CNIPlugins(d.t)+"/"+name, "/opt/cni/bin/"+name, 0o755)
	}
	installConf(ctx, n, "10-kuberouter.conflist", kubeRouterConf)
}

// Start starts kube-router as the unit kube-router, and waits until it says that its controllers
// are alive. [KubeRouter.Join] and [KubeRouter.Install] come first.
func (d KubeRouter) Start(ctx context.Context, n *node.Node) {
	d.t.Helper()
	n.Copy(filepath.Join(assets.Plugins(d.t, "kuberouter"), "kube-router"), "/opt/lab/kube-router", 0o755)
	n.Write("/var/lib/kube-router/token", d.server.Token("kube-system", "kube-router"), 0o600)
	n.Write("/var/lib/kube-router/kubeconfig", d.server.TokenKubeconfig(d.server.Endpoint, "/var/lib/kube-router/token"), 0o600)
	n.Must(ctx, "systemd-run", "--quiet", "--collect", "--unit=kube-router", "--setenv=NODE_NAME="+n.Name(),
		"--setenv=KUBE_ROUTER_CNI_CONF_FILE=/etc/cni/net.d/10-kuberouter.conflist", "--",
		"/opt/lab/kube-router", "--run-router=true", "--run-firewall=true", "--run-service-proxy=false", "--bgp-graceful-restart=true",
		"--kubeconfig=/var/lib/kube-router/kubeconfig", "--service-cluster-ip-range="+kubeapi.Services)
	if !n.Await(ctx, "ip link show kube-bridge && curl -fsS -o /dev/null http://localhost:20244/healthz") {
		d.t.Fatalf("node %s: kube-router does not come up:\n%s", n.Name(), n.Run(ctx, "journalctl", "-u", "kube-router", "-n", "60", "--no-pager").Stdout)
	}
}
