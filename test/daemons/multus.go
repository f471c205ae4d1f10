package daemons

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// Multus is what the DaemonSet of thick Multus does on nodes, with the API of Kubernetes.
// https://github.com/k8snetworkplumbingwg/multus-cni/blob/master/deployments/multus-daemonset-thick.yml
type Multus struct {
	t      testing.TB
	server *kubeapi.Server
}

const (
	multusRules = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: multus
  namespace: kube-system
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: multus
rules:
- {apiGroups: [k8s.cni.cncf.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [pods, pods/status], verbs: [get, list, update, watch]}
- {apiGroups: ["", events.k8s.io], resources: [events], verbs: [create, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: multus
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: multus}
subjects:
- {kind: ServiceAccount, name: multus, namespace: kube-system}
`
	attachmentKind = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "network-attachment-definitions.k8s.cni.cncf.io"},
		"spec": {"group": "k8s.cni.cncf.io", "scope": "Namespaced",
			"names": {"plural": "network-attachment-definitions", "singular": "network-attachment-definition", "kind": "NetworkAttachmentDefinition"},
			"versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
				"properties": {"spec": {"type": "object", "properties": {"config": {"type": "string"}}}}}}}]}}`
	attachments = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
	// It is no pod here: what its pod has below /host is where the host has it.
	multusConfig = `{"cniVersion": "0.3.1", "logLevel": "verbose", "logToStderr": true, "cniConfigDir": "/etc/cni/net.d", "multusAutoconfigDir": "/etc/cni/net.d",
		"multusConfigFile": "auto", "socketDir": "/run/multus/"}`
)

// NewMultus gives Multus its account, and the API its kind of object.
func NewMultus(t testing.TB, server *kubeapi.Server) Multus {
	t.Helper()
	server.Apply(multusRules)
	server.Must("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", attachmentKind)
	for { // the server takes up a new kind when it likes; the test's own deadline ends what hangs
		if code, _, err := server.Try("GET", attachments, ""); err == nil && code == 200 {
			return Multus{t, server}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Attach makes a pod of a node in the API, as its kubelet has it, and a network beside the
// cluster's that it asks for: a macvlan on the node's own link, with an address.
func (d Multus) Attach(n *node.Node, pod, address string) {
	d.t.Helper()
	d.server.Must("POST", attachments, fmt.Sprintf(`{"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": {"name": "of-%s", "namespace": "default"},
		"spec": {"config": %q}}`, pod, `{"cniVersion": "1.0.0", "name": "beside", "type": "macvlan", "master": "host0", "mode": "bridge",
			"ipam": {"type": "static", "addresses": [{"address": "`+address+`"}]}}`))
	d.server.Apply("apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + pod + "\n  namespace: default\n  annotations: {k8s.v1.cni.cncf.io/networks: of-" + pod +
		"}\nspec:\n  nodeName: " + n.Name() + "\n  containers: [{name: c, image: none}]\n")
}

// Start starts the daemon as the unit multus, once its init container has brought the shim. It
// writes its conf from the first other one.
func (d Multus) Start(ctx context.Context, n *node.Node) {
	d.t.Helper()
	built := assets.Plugins(d.t, "clientgo")
	n.Copy(filepath.Join(built, "multus-shim"), "/opt/cni/bin/multus-shim", 0o755)
	n.Copy(filepath.Join(built, "multus-daemon"), "/opt/lab/multus-daemon", 0o755)
	n.Write("/opt/lab/daemon-config.json", multusConfig, 0o644)
	startInCluster(ctx, d.server, n, "multus", "multus", "MULTUS_NODE_NAME", "/opt/lab/multus-daemon", "-config=/opt/lab/daemon-config.json")
}
