package network

import "fmt"

// external returns the row of kubenet's conf_template with a DaemonSet of the user that makes the
// routes between nodes. Source: kOps up to 1.31 (pkg/apis/kops/networking.go,
// ExternalNetworkingSpec), which let the controller manager allocate pod CIDRs and make no routes.
func external() Network {
	n := kubenet()
	n.Title = "containerd's conf_template, kubenet below 1.24; a DaemonSet of your own makes the routes between nodes"
	n.Docs = "https://github.com/kubernetes/kops/blob/v1.25.0/docs/networking.md"
	n.Lifecycle = Lifecycle{Stages: []Stage{{Level: Stable}, {Level: Removed, Kubernetes: "1.26"}},
		First: version(1, 4), Instead: "cni, kubenet or bridge"}
	n.HealthChecks[0].Missing = "kubelet told no pod CIDR: the controller manager needs --allocate-node-cidrs=true and " +
		"--configure-cloud-routes=false"
	n.Residue.Others = []string{"ebtables: chain KUBE-DEDUP of table filter and the jump to it in OUTPUT, where " +
		"kubelet called the plugins",
		"routes of the DaemonSet, by which protocol it only knows: `ip route` shows those to other nodes' pod CIDRs"}
	n.TestedBy, n.SafeToReplace = nil, "" // the cloud makes kubenet's routes, but a daemon makes these
	n.Build = buildExternal
	return n
}

func buildExternal(in Input, b *Built) error {
	if in.Node.Topology.Private() {
		return fmt.Errorf("use external (%s): as in kOps it does not go with private topology (%s): choose another "+
			"network, or make the topology public",
			in.NetworkOrigin(), in.Origin("spec.topology"))
	}
	b.note(Info, in.NetworkOrigin(),
		"whoever brings the DaemonSet makes a route to every other node's pod CIDR: `ip route get` to a pod of "+
			"another node shows whether it has")
	return b.addTemplate(in, 0)
}
