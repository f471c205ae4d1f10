package e2e

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// dns runs CoreDNS in a pod. CoreDNS finds the API server as all pods do: by its service, with the
// token of its account.
func (k *kubelets) dns(n *node.Node) {
	k.t.Helper()
	n.Copy(image(k.t, "localhost/coredns:1", assets.CoreDNS(k.t)), "/srv/coredns.tar", 0o644)
	n.Must(k.t.Context(), "ctr", "-n", "k8s.io", "images", "import", "/srv/coredns.tar")
	k.serve("default", "kubernetes", "", netip.MustParseAddr(node.Gateway4), "elsewhere", "{name: https, port: 6443}")
	k.Apply(fmt.Sprintf(dnsManifest, strings.ReplaceAll(k.Authority.PEM, "\n", "\n    "), n.Name(), kubeapi.ServiceAddress))
	k.serve("kube-system", "kube-dns", "clusterIP: 10.96.0.10\n  ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}]",
		k.address("kube-system", "coredns"), n.Name(), "{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}")
}

const dnsManifest = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: coredns
  namespace: kube-system
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: coredns
rules:
- {apiGroups: [""], resources: [services, pods, namespaces], verbs: [list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: coredns
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: coredns}
subjects:
- {kind: ServiceAccount, name: coredns, namespace: kube-system}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: coredns
  namespace: kube-system
data:
  ca.crt: |
    %s
  Corefile: |
    .:53 {
      errors
      ready
      kubernetes cluster.local
    }
---
apiVersion: v1
kind: Pod
metadata:
  name: coredns
  namespace: kube-system
spec:
  nodeName: %s
  serviceAccountName: coredns
  dnsPolicy: Default
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: localhost/coredns:1
    imagePullPolicy: Never
    args: [-conf, /etc/coredns/Corefile]
    env: [{name: KUBERNETES_SERVICE_HOST, value: "%s"}, {name: KUBERNETES_SERVICE_PORT, value: "443"}]
    readinessProbe: {httpGet: {port: 8181, path: /ready}, periodSeconds: 1}
    volumeMounts:
    - {name: config, mountPath: /etc/coredns}
    - {name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}
  volumes:
  - name: config
    configMap: {name: coredns}
  - name: account
    projected:
      sources:
      - serviceAccountToken: {path: token}
      - configMap: {name: coredns, items: [{key: ca.crt, path: ca.crt}]}
`
