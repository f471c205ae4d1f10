package sys

import (
	"path"
	"slices"
	"strings"
)

// writtenPrefixes begin the names of chains, tables and links that programs on the node create at
// any time: Kubernetes, its networks and its runtimes, and programs that run containers or virtual
// machines or ban addresses.
var writtenPrefixes = []string{
	"kube", "cali", "vxlan.cali", "vxlan-v6.cali", "wireguard.cali", "wg-v6.cali", "bpfin.cali", "bpfout.cali", "bwcali",
	"cilium", "old_cilium", "lxc", "flannel", "cni", "antrea", "ovn", "ovs", "genev_sys_", "vxlan_sys_", "gre_sys",
	"stt_sys_", "weave", "vethwe", "vxlan-6784", "istio", "nodelocaldns", "crio", "docker", "netavark",
	"podman", "nerdctl", "virbr", "libvirt", "lxd", "incus", "f2b-", "crowdsec", "sshguard", "tunl0", "cbr0", "eni",
	"vlan.eth.", "azv", "azsnatbr", "hybr", "knet", "kopeio", "romana-",
}

// writtenPatterns are names of links without such a prefix: of OVN-Kubernetes, hybridnet, Contrail,
// kopeio, kube-router, and of networks that people create with Docker.
var writtenPatterns = []string{
	"mp*-udn-vrf", "*.vxlan[0-9]*", "pkt[0-3]", "k8s-??-??-??-??", "tun-" + strings.Repeat("[0-9a-f]", 11),
	"br-" + strings.Repeat("[0-9a-f]", 12),
}

// HasWriter reports whether a program that runs on the node creates and changes a link, chain or
// table of this name at any time: a program of Kubernetes, or one that runs containers or virtual
// machines or bans addresses. It is false for "".
func HasWriter(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(writtenPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(writtenPatterns, func(p string) bool { is, _ := path.Match(p, name); return is })
}
