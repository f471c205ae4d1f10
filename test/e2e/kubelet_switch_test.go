package e2e

import (
	"fmt"
	"maps"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/node"
)

// While kubelets run, the nodes switch from bridge to flannel. flannel's own pods bring it as its
// DaemonSet would. kubelet makes the pods again, and they reach each other by flannel. Then the
// network is handed over to `cni: {}`, and no pod is made again.
func TestKubernetesKubeletSwitches(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := newKubelets(t, "    bridge: {}\n")
	k.ready()
	k.proxy("iptables")
	for i, n := range k.nodes {
		k.Must("PATCH", "/api/v1/nodes/"+n.Name(), fmt.Sprintf(`{"spec": {"podCIDR": %q, "podCIDRs": [%q]}}`, podRange(i), podRange(i)))
		k.pod(fmt.Sprintf("web-%d", i+1), n, "")
	}
	k.talk("dev host0")
	before := k.sandboxes()

	k.Apply(flannelRules)
	k.Apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: flannel\n  namespace: kube-flannel\ndata:\n  ca.crt: %q\n  cni-conf.json: %q\n  net-conf.json: %q\n",
		k.Authority.PEM, daemons.FlannelConf, `{"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan"}}`))
	k.wants("    flannel: {backend: vxlan}\n    switch: {allow: true, from: bridge}\n")
	for _, n := range k.nodes { // one after the other: such a switch waits for a person
		n.Must(ctx, "netwright", "resume", "--apply")
		until(t, n, "bridge is gone", "! ip link show cbr0 && ! test -e /etc/cni/net.d/05-netwright-bridge.conflist && systemctl is-active -q kubelet")
		k.flannel(n)
	}
	k.ready()
	k.talk("dev flannel.1")
	for name, id := range k.sandboxes() {
		if before[name] == id {
			t.Errorf("pod %s still has its sandbox of bridge", name)
		}
	}
	for _, n := range k.nodes {
		told(k.Server, n.Name(), "True Converged")
		if k.node(n).Spec.Unschedulable {
			t.Errorf("%s is still cordoned", n.Name())
		}
	}

	before = k.sandboxes()
	k.wants("    cni: {}\n")
	for _, n := range k.nodes {
		n.Must(ctx, "netwright", "resume", "--apply")
		until(t, n, "the network is handed over", `netwright status -o json | grep -q '"network": *"cni"'`)
		told(k.Server, n.Name(), "True Converged")
		n.Must(ctx, "test", "-e", "/etc/cni/net.d/10-flannel.conflist")
	}
	k.talk("dev flannel.1")
	if after := k.sandboxes(); !maps.Equal(before, after) {
		t.Errorf("pods were made again when the network was handed over: %v, before %v", after, before)
	}
}

// wants changes the network in the nodes' store.
func (k *kubelets) wants(networking string) {
	k.t.Helper()
	for _, n := range k.nodes {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", k.document(networking), 0o644)
	}
}

// sandboxes returns the runtime's ids of the nodes' pods, by name of the pod.
func (k *kubelets) sandboxes() map[string]string {
	k.t.Helper()
	out := map[string]string{}
	for _, n := range k.nodes {
		res, err := runtimeClient(k.t, n).ListPodSandbox(k.t.Context(), &cri.ListPodSandboxRequest{Filter: &cri.PodSandboxFilter{State: &cri.PodSandboxStateValue{}}})
		if err != nil {
			k.t.Fatal(err)
		}
		for _, p := range res.GetItems() {
			out[p.GetMetadata().GetName()] = p.GetId()
		}
	}
	return out
}

// talk waits until the pods web-1 and web-2 reach each other, directly and by a service, over this
// link of their nodes.
func (k *kubelets) talk(link string) {
	k.t.Helper()
	for i, n := range k.nodes {
		here, there := fmt.Sprintf("web-%d", i+1), fmt.Sprintf("web-%d", 2-i)
		service := fmt.Sprintf("10.96.0.5%d", i)
		var last string
		k.wait(here+" reaches "+there+" over "+link, func() (ok bool) {
			other := k.address("default", there)
			k.service(there, service, other, k.nodes[1-i])
			for _, url := range []string{fmt.Sprintf("http://%s:8080/", other), "http://" + service + "/"} {
				if last, ok = k.get(n, here, url); !ok {
					return false
				}
			}
			return n.Run(k.t.Context(), "sh", "-c", fmt.Sprintf("ip route get %s | grep -q '%s'", other, link)).Code == 0
		})
		if want := fmt.Sprintf("%s %s", there, k.address("default", here)); last != want {
			k.t.Errorf("%s asks %s: %q, want %q", here, there, last, want)
		}
	}
}

// flannel makes the pod that flannel's DaemonSet makes on a node, with the node's own shell and
// iptables. https://github.com/flannel-io/flannel/blob/master/Documentation/kube-flannel.yml
func (k *kubelets) flannel(n *node.Node) {
	k.t.Helper()
	n.Copy(image(k.t, "localhost/flannel:1", assets.Flanneld(k.t)), "/srv/flannel.tar", 0o644)
	n.Must(k.t.Context(), "ctr", "-n", "k8s.io", "images", "import", "/srv/flannel.tar")
	n.Copy(assets.Flannel(k.t), "/srv/flannel/flannel", 0o755)
	k.Apply(fmt.Sprintf(flannelPod, n.Name(), n.Name(), node.Gateway4))
}

const flannelPod = `apiVersion: v1
kind: Pod
metadata:
  name: kube-flannel-%s
  namespace: kube-flannel
spec:
  nodeName: %s
  hostNetwork: true
  serviceAccountName: flannel
  terminationGracePeriodSeconds: 1
  initContainers:
  - name: install-cni
    image: localhost/flannel:1
    imagePullPolicy: Never
    command: [/usr/bin/sh, -euc, "cp /srv/flannel/flannel /opt/cni/bin/; cp /etc/kube-flannel/cni-conf.json /etc/cni/net.d/.10-flannel.tmp; mv /etc/cni/net.d/.10-flannel.tmp /etc/cni/net.d/10-flannel.conflist"]
    volumeMounts: &mounts
    - {name: usr, mountPath: /usr, readOnly: true}
    - {name: lib, mountPath: /lib, readOnly: true}
    - {name: lib64, mountPath: /lib64, readOnly: true}
    - {name: alternatives, mountPath: /etc/alternatives, readOnly: true}
    - {name: srv, mountPath: /srv/flannel, readOnly: true}
    - {name: plugins, mountPath: /opt/cni/bin}
    - {name: conf, mountPath: /etc/cni/net.d}
    - {name: run, mountPath: /run/flannel}
    - {name: config, mountPath: /etc/kube-flannel}
    - {name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}
  containers:
  - name: kube-flannel
    image: localhost/flannel:1
    imagePullPolicy: Never
    args: [--iface=host0, --ip-masq, --kube-subnet-mgr]
    securityContext: {capabilities: {add: [NET_ADMIN, NET_RAW]}}
    env:
    - {name: PATH, value: "/usr/sbin:/usr/bin"}
    - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: KUBERNETES_SERVICE_HOST, value: "%s"}
    - {name: KUBERNETES_SERVICE_PORT, value: "6443"}
    volumeMounts: *mounts
  volumes:
  - {name: usr, hostPath: {path: /usr}}
  - {name: lib, hostPath: {path: /usr/lib}}
  - {name: lib64, hostPath: {path: /lib64}}
  - {name: alternatives, hostPath: {path: /etc/alternatives}}
  - {name: srv, hostPath: {path: /srv/flannel}}
  - {name: plugins, hostPath: {path: /opt/cni/bin}}
  - {name: conf, hostPath: {path: /etc/cni/net.d}}
  - {name: run, hostPath: {path: /run/flannel, type: DirectoryOrCreate}}
  - {name: config, configMap: {name: flannel}}
  - name: account
    projected:
      sources:
      - serviceAccountToken: {path: token}
      - configMap: {name: flannel, items: [{key: ca.crt, path: ca.crt}]}
`
