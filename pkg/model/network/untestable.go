package network

// Untestable is where `agent verify --traffic` says that it cannot judge a network: its own parts
// go by what the API has as a Pod, which the pods of a proof are not. What they refuse, or treat
// otherwise, says nothing about the cluster's pods.
type Untestable struct {
	Why     string `json:"why"`
	Instead string `json:"instead"` // what tells
	Case
	Source string `json:"source"`
}

// apiPods is the test of networks that have none of their own: pods that the API knows.
const apiPods = "two pods of the API on this node and one on another, and `kubectl exec` to ask each from the other"

// ciliumUntestable: its plugin gives an endpoint without a Pod the identity reserved:init, for
// which there is a policy of its own, and its programs decide at the pods' links about services,
// ports of the host and masquerading, before a rule of the host's sees a packet.
func ciliumUntestable() []Untestable {
	return []Untestable{{Why: "to Cilium a pod that the API does not know is no endpoint but one that is still being " +
		"made (reserved:init), and its programs serve the services before any rule of this host",
		Instead: "`cilium connectivity test` in the cluster; on this node `cilium-dbg status --verbose` and " +
			"`cilium-health status` in the agent's pod",
		Source: "https://docs.cilium.io/en/stable/security/network/identity/"}}
}

// calicoUntestable: with the datastore Kubernetes an endpoint is kept at its Pod. An etcd keeps it
// by itself.
// https://github.com/projectcalico/calico/blob/master/libcalico-go/lib/backend/k8s/resources/workloadendpoint.go
func calicoUntestable() []Untestable {
	const source = "https://docs.tigera.io/calico/latest/reference/configure-cni-plugins"
	return []Untestable{
		{Why: "Calico keeps its endpoints at the API's Pods: its plugin refuses a pod that the API does not know",
			Instead: apiPods, Source: source,
			Case: Case{"datastore Kubernetes, without eBPF",
				func(in Input) bool { return in.Node.Networking.Calico.Etcd == nil && !calicoBPF.If(in) }}},
		{Why: "Calico's programs go by the endpoints that it keeps at the API's Pods, and serve the services before " +
			"any rule of this host", Source: "https://docs.tigera.io/calico/latest/operations/ebpf/troubleshoot-ebpf",
			Instead: apiPods + "; `calico-node -bpf nat dump` and `-bpf conntrack dump` in calico-node's pod here " +
				"show what its programs know", Case: calicoBPF},
	}
}

func canalUntestable() []Untestable {
	all := calicoUntestable()[:1]
	all[0].Case = Case{}
	return all
}

func kubeovnUntestable() []Untestable {
	return []Untestable{{Why: "Kube-OVN's controller gives addresses to the API's Pods, by their annotations: its " +
		"plugin refuses a pod that the API does not know",
		Instead: "`kubectl ko diagnose all`", Source: "https://kubeovn.github.io/docs/stable/en/ops/kubectl-ko/"}}
}

func ovnKubernetesUntestable() []Untestable {
	return []Untestable{{Why: "OVN-Kubernetes gives addresses to the API's Pods, by their annotations: its plugin " +
		"refuses a pod that the API does not know",
		Instead: apiPods + "; `ovnkube-trace` shows the way of their packets",
		Source:  "https://ovn-kubernetes.io/troubleshooting/ovnkube-trace/"}}
}

// multusUntestable: both kinds ask the API for the Pod, thick by its daemon and thin where its conf
// names a kubeconfig, which ours does.
func multusUntestable() Untestable {
	return Untestable{Why: "Multus asks the API for each pod: it refuses one that the API does not know",
		Instead: apiPods,
		Source:  "https://github.com/k8snetworkplumbingwg/multus-cni/blob/master/pkg/multus/multus.go"}
}

// coilUntestable: coild looks each pod up, whatever it gives it.
func coilUntestable() []Untestable {
	return []Untestable{{Why: "coild asks the API for each pod: its plugin refuses one that the API does not know",
		Instead: apiPods, Source: "https://github.com/cybozu-go/coil/blob/v2.15.0/v2/runners/coild_server.go"}}
}

func hybridnetUntestable() []Untestable {
	return []Untestable{{Why: "Hybridnet's manager gives addresses to the API's Pods: its plugin refuses a pod that the " +
		"API does not know",
		Instead: apiPods, Source: "https://github.com/alibaba/hybridnet/blob/v0.8.8/pkg/daemon/server/handle.go"}}
}
