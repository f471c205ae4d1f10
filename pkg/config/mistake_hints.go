package config

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
)

// hints gives hints about mistakes in the documents of a cluster.
type hints struct{}

// Home returns where a misplaced field belongs, or "" if the field is unknown.
func (hints) Home(key string) string {
	switch key {
	case "networkCIDR", "podCIDR", "nonMasqueradeCIDR", "serviceClusterIPRange", "serviceNodePortRange",
		"cloudProvider", "topology":
		return key + " belongs under spec of the Cluster"
	case "kubernetesVersion", "sysctlParameters", "fileAssets", "hooks", "assets", "assetsMirror", "kubelet",
		"kubeProxy", "containerd", "networking", "certificates", "prune", "aws", "drift", "update", "followLinks":
		return key + " belongs under spec"
	case "address", "podCIDRs", "nodeGroup":
		return key + " belongs under spec of a Node"
	case "role", "minSize", "maxSize":
		return key + " belongs under spec of a NodeGroup"
	case "sourceDestCheck", "countRoutes":
		return key + " belongs under spec.aws"
	case "auto", "splay", "percent", "window":
		return key + " belongs under spec.update"
	case "changed":
		return "changed belongs under spec.prune"
	case "binDir", "confDir":
		return key + " belongs under spec.networking.cni"
	case "allow", "from":
		return key + " belongs under spec.networking.switch"
	case "mtu":
		return "mtu belongs under the network: spec.networking.bridge.mtu"
	case "nodeIP":
		return "the address of a node goes into its document, as spec.address; kubelet's --node-ip is " +
			"spec.kubelet.nodeIP"
	case "proxyMode":
		return "proxyMode belongs under spec.kubeProxy"
	}
	if networks.IsNetwork(key) {
		return key + " belongs under spec.networking: indent it further"
	}
	return ""
}

// headerFields are the top-level fields of a document.
var headerFields = []string{"apiVersion", "kind", "metadata", "spec"}

// Empty returns what to do about a required field without a value, because it cannot be taken out.
func (hints) Empty(path string) string {
	switch path {
	case "spec.networking":
		return "choose a network below it, for example networking: {bridge: {}}"
	case "spec.kubernetesVersion":
		return "give it one, such as 1.31.2"
	case "apiVersion", "kind", "metadata", "metadata.name", "spec":
		return "give it one: no document is without"
	}
	return ""
}

// Instead returns how to choose a network.
func (hints) Instead(path, written string) string {
	if path == "spec.networking" && decode.ValidName(strings.ToLower(written)) == "" {
		return fmt.Sprintf("write it as networking: {%s: {}}", document.Clip(written))
	}
	return ""
}
