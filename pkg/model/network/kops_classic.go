package network

import "github.com/netwright/netwright/pkg/cleanup"

// classic returns the row of what kOps called the network before kubelet had plugins: kubelet
// itself configured docker's bridge (--configure-cbr0), up to Kubernetes 1.4. Only kubelet makes
// something on the node.
// https://github.com/kubernetes/kubernetes/blob/v1.3.0/pkg/kubelet/container_bridge.go
func classic() Network {
	return Network{
		Title: "docker's bridge, made by kubelet itself; the cloud routes between nodes (Kubernetes up to 1.4)",
		Docs:  "https://github.com/kubernetes/kops/blob/release-1.5/docs/networking.md",
		Lifecycle: Lifecycle{
			Gone:    "kubelet made its bridge (--configure-cbr0) up to Kubernetes 1.4, and kOps refuses it since",
			Instead: "kubenet, which is the same in a plugin, or bridge",
		},
		Conf:       Conf{Writer: WriterUser},
		Kubelet:    noopPlugin,
		MTU:        "docker's (--mtu), 1500",
		SharedHost: ownLinks("cbr0", "veth*"),
		Residue: cleanup.Residue{
			Links: []cleanup.LinkSelector{{Name: BridgeLink, Kind: "bridge"},
				{Name: "veth*", Kind: "veth", Master: BridgeLink}},
			Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "POSTROUTING",
				Comment: "kubelet: SNAT outbound cluster traffic"}},
			Others: []string{"docker's option --bridge=cbr0 (DOCKER_OPTS): without cbr0 docker does not start with it",
				"the cloud's route to this node's pod CIDR"},
		},
		Untested: "that a kubelet of that time makes the bridge: no test runs one",
	}
}
