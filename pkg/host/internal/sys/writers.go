package sys

import (
	"path"
	"slices"
	"strings"
)

// writtenPrefixes begin the names of what Kubernetes, its networks and its runtime make on a node,
// at any time, and others that run containers, machines and bans: chains, tables and links.
var writtenPrefixes = []string{
	"kube", "cali", "vxlan.cali", "vxlan-v6.cali", "wireguard.cali", "wg-v6.cali", "bpfin.cali", "bpfout.cali", "bwcali",
	"cilium", "old_cilium", "lxc", "flannel", "cni", "antrea", "ovn", "ovs", "genev_sys_", "vxlan_sys_", "gre_sys",
	"stt_sys_", "weave", "vethwe", "vxlan-6784", "istio", "nodelocaldns", "crio", "docker", "netavark",
	"podman", "nerdctl", "virbr", "lxdbr", "incusbr", "f2b-", "crowdsec", "sshguard", "tunl0", "cbr0", "eni",
	"vlan.eth.", "azv", "azsnatbr", "hybr", "knet", "kopeio", "romana-",
}

// writtenPatterns are of links whose names begin as others' do: of OVN-Kubernetes, hybridnet,
// Contrail, kopeio, kube-router and of networks that people make with Docker.
var writtenPatterns = []string{
	"mp*-udn-vrf", "*.vxlan[0-9]*", "pkt[0-3]", "k8s-??-??-??-??", "tun-" + strings.Repeat("[0-9a-f]", 11),
	"br-" + strings.Repeat("[0-9a-f]", 12),
}

// HasWriter says of the name of a link, a chain or a table that a program which runs on the node
// writes it, at any time and unasked: Kubernetes' own programs, or others that run containers,
// machines and bans. "" is nobody's.
func HasWriter(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(writtenPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(writtenPatterns, func(p string) bool { is, _ := path.Match(p, name); return is })
}
