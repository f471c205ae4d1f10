package network

import (
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// CNIPlugins is the name of the asset with the CNI reference plugins.
const CNIPlugins = "cni-plugins"

// reference returns the named reference plugins. The asset's release must be minimum or newer.
func reference(minimum string, members ...string) Plugin {
	return Plugin{Asset: CNIPlugins, Members: members, Minimum: minimum,
		Source: "https://github.com/containernetworking/plugins"}
}

// byDaemonSet returns a conf that the network's own DaemonSet writes and that the node waits for.
func byDaemonSet(file string, chain ...string) Conf {
	return Conf{Writer: WriterDaemonSet, File: file, Chain: chain, Awaited: "its DaemonSet writes it"}
}

// awaited returns the conf with another text that says who writes it, and when.
func (c Conf) awaited(words string) Conf {
	c.Awaited = words
	return c
}

func version(major, minor int) values.Version { return values.Version{Major: major, Minor: minor} }

// The conditions for the address families of pods.
var (
	withIPv4 = Case{"pods have IPv4", func(in Input) bool { return in.V4 }}
	withIPv6 = Case{"pods have IPv6", func(in Input) bool { return in.V6 }}
)

// forwarding returns the sysctls that make a node a router between its pods and other hosts. The
// plugins bridge and ptp set them at the first pod, and kOps at boot (nodeup/pkg/model/sysctls.go).
func forwarding() []Sysctl {
	return []Sysctl{
		{Key: "net.ipv4.ip_forward", Value: "1", Why: "the node routes for its pods", Required: true,
			Case: withIPv4},
		{Key: "net.ipv6.conf.all.forwarding", Value: "1", Why: "the node routes for its pods", Required: true,
			Case: withIPv6},
	}
}

// bridgeNetfilter returns the sysctls with which kube-proxy's rules see packets that two pods on
// the same bridge send each other through a service. kubelet up to 1.23 set them; newer ones do
// not.
// https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/
func bridgeNetfilter() []Sysctl {
	const why = "kube-proxy must see bridged traffic"
	return []Sysctl{
		{Key: "net.bridge.bridge-nf-call-iptables", Value: "1", Why: why, Required: true},
		{Key: "net.bridge.bridge-nf-call-ip6tables", Value: "1", Why: why, Required: true},
	}
}

// brNetfilter returns the module that has the sysctls of bridgeNetfilter.
func brNetfilter(optional bool) Module {
	return Module{Name: "br_netfilter", Why: "kube-proxy must see bridged traffic", Optional: optional}
}

// ownLinks returns what nearly every network needs: other services do not configure its links, do
// not remove its routes, and let packets of its pods pass.
func ownLinks(links ...string) SharedHost {
	return SharedHost{Links: links, Routes: true, Firewall: true}
}

// besides adds things that other services must leave alone.
func (s SharedHost) besides(more ...Shared) SharedHost {
	s.Others = append(s.Others, more...)
	return s
}

// enis gives the cloud's further interfaces to the network if the condition holds (nil: always).
func (s SharedHost) enis(when string, condition func(Input) bool) SharedHost {
	s.ENIs, s.ENIsWhen, s.ENIsIf = true, when, condition
	return s
}

// TakesENIs reports whether the cloud's further interfaces belong to the network.
func (s SharedHost) TakesENIs(in Input) bool { return s.ENIs && (s.ENIsIf == nil || s.ENIsIf(in)) }

// macs adds links whose MAC address udev must not change. systemd's 99-default.link has
// MACAddressPolicy=persistent. With it udev changes the address of a link after the network has
// told the old one to the pod or to other nodes.
func (s SharedHost) macs(links ...string) SharedHost {
	s.MAC = append(s.MAC, links...)
	return s
}

// waitConf returns the check of the conf directory for this network.
func (in Input) waitConf(file, writer string) *tasks.WaitConf {
	return &tasks.WaitConf{
		Network: in.Node.Networking.Name(), Writer: writer,
		Dir: in.ConfDir, File: file, BinDirs: in.BinDirs,
		FirstOnly: !in.triesOthers(),
		Consumer:  in.consumer(),
	}
}

// podSign returns the check that each pod has its link on the host. On a node without pods it
// checks nothing.
func podSign(link, kind string) HealthCheck {
	return HealthCheck{Text: "each pod has its link", Link: link, Kind: kind, Pods: true,
		Missing: "a pod without a link has no network: its events say why (`kubectl describe pod`), and so does the " +
			"runtime's log"}
}

// nodeIPNeeded is what kubelet needs with a network that gives pods addresses of the node's own
// interface.
const nodeIPNeeded = "kubelet needs --node-ip with the node's first address: say spec.kubelet.nodeIP, an address, a " +
	"range or a link, or add it where you start kubelet"

// noteKubeProxy adds a note that the network itself serves the services, unless a document sets
// kubeProxy.enabled. The check of the documents already refuses kubeProxy.enabled: true.
func (b *Built) noteKubeProxy(in Input, path, network string) {
	if in.Node.KubeProxy == nil {
		b.note(Info, in.Origin(path),
			"%s serves the services: kube-proxy must not run on this node (kubeProxy.enabled: false)", network)
	}
}

// protocolBoot is the protocol of routes whose program set no protocol of its own
// (linux/rtnetlink.h, RTPROT_BOOT).
const protocolBoot = 3

// allTables stands for every routing table, as in [rtnl.AllTables].
const allTables = rtnl.AllTables
