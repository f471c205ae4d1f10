package network

import "github.com/netwright/netwright/pkg/cleanup"

// cniGenie returns the row of CNI-Genie. Netwright prepares the node and waits for the conf, which
// the DaemonSet writes with a token of its service account. CNI-Genie passes each pod to the
// networks that an annotation names. Sources:
// https://github.com/cni-genie/CNI-Genie (conf/1.8/genie-plugin.yaml, conf/1.8/launch.sh,
// releases/v3.0).
func cniGenie() Network {
	return Network{
		Title: "hands each pod to the networks that its annotation names; those must be there besides",
		Docs:  "https://github.com/cni-genie/CNI-Genie",
		Lifecycle: Lifecycle{
			First: version(1, 5), Last: version(1, 21), // its manifests use APIs that 1.22 does not have
			Upstream: "archived in February 2025, with code of 2019",
			Instead:  "multus",
			Note: "its installer copies a token once; from Kubernetes 1.21 tokens expire, and the plugin then " +
				"stops working",
		},
		Conf: byDaemonSet("00-genie.conf", "genie").awaited(
			"its DaemonSet writes it, with a token: keep it unreadable for others"),
		Plugins: nil, // its DaemonSet installs genie; those of the other networks install theirs
		Kubeconfig: "/etc/cni/net.d/genie-kubeconfig, by its DaemonSet, without a token: that is in the conf, which " +
			"is a secret",
		MTU:  "that of the network which it hands the pod to",
		IPv6: true,
		// There is no process to check, because genie only passes pods on (conf/1.8/launch.sh).
		HealthChecks: []HealthCheck{
			{Text: "its program is there", Path: "/opt/cni/bin/genie",
				Missing: "its installer has not finished here: look at the pod genie-plugin"},
			{Text: "it can talk to the API", Path: "/etc/cni/net.d/genie-kubeconfig",
				Missing: "without it no annotation of a pod is read: its installer writes it when its pod starts"}},
		Residue: cleanup.Residue{
			Chains: []cleanup.ChainSelector{{Table: "filter", Chain: "Genie-NPC-Base"},
				{Table: "filter", Chain: "GnPlc-*"}, {Table: "filter", Chain: "GnNtk-*"}},
			Files: []string{"/etc/cni/net.d/genie-kubeconfig",
				"/etc/cni/net.d/genie-tls/", "/opt/cni/bin/genie"},
			Others: []string{"10-bridge.conf, 10-macvlan.conf and 10-sriov.conf in /etc/cni/net.d, if it wrote them: " +
				"names mybridgenet, macvlannet, sriovnet",
				"the DaemonSet genie-plugin: it writes the conf again whenever its pod starts, so delete it first",
				"what the networks behind it leave: each by its own row"},
		},
		// policy-engine belongs to its policy (conf/1.8/genie-complete.yaml). The container of
		// genie-plugin, install-cni, is not listed, because older Calico and Canal, which may stay,
		// have one of that name too.
		Agents: []string{"policy-engine"},
		Untested: "what the plugin answers: its code is older than Go modules (GOPATH and vendor), and no test " +
			"builds it",
	}
}
