package sys

import (
	"slices"
	"strings"
)

// ownPrefixes begin the names of what Kubernetes, its networks and its runtime make on a node, at
// any time: chains, tables and links.
var ownPrefixes = []string{
	"kube", "cali", "vxlan.cali", "wireguard.cali", "cilium", "old_cilium", "lxc", "flannel", "cni", "antrea", "ovn",
	"ovs", "weave", "istio",
	"nodelocaldns", "docker", "netavark", "tunl0", "cbr0", "eni",
}

// OfKubernetes says of the name of a link or of a chain that it is of Kubernetes' own programs. ""
// is nobody's.
func OfKubernetes(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(ownPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
