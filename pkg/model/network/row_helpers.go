package network

import (
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// CNIPlugins is the name of the asset with the reference plugins.
const CNIPlugins = "cni-plugins"

// reference names members of that asset, of that release and newer.
func reference(minimum string, members ...string) Plugin {
	return Plugin{Asset: CNIPlugins, Members: members, Minimum: minimum,
		Source: "https://github.com/containernetworking/plugins"}
}

// byDaemonSet is a conf that the network's own DaemonSet writes, and that is awaited.
func byDaemonSet(file string, chain ...string) Conf {
	return Conf{Writer: WriterDaemonSet, File: file, Chain: chain, Awaited: "its DaemonSet writes it"}
}

// awaited is a conf of which a wait says in other words who writes it, and when.
func (c Conf) awaited(words string) Conf {
	c.Awaited = words
	return c
}

func version(major, minor int) values.Version { return values.Version{Major: major, Minor: minor} }

// The families of pods.
var (
	withIPv4 = Case{"pods have IPv4", func(in Input) bool { return in.V4 }}
	withIPv6 = Case{"pods have IPv6", func(in Input) bool { return in.V6 }}
)

// forwarding are the switches that make a node a router between its pods and the rest. Upstream:
// bridge and ptp plugins set them at the first pod; kOps at boot (nodeup/pkg/model/sysctls.go).
func forwarding() []Sysctl {
	return []Sysctl{
		{Key: "net.ipv4.ip_forward", Value: "1", Why: "the node routes for its pods", Required: true,
			Case: withIPv4},
		{Key: "net.ipv6.conf.all.forwarding", Value: "1", Why: "the node routes for its pods", Required: true,
			Case: withIPv6},
	}
}

// bridgeNetfilter makes kube-proxy's rules see what pods of one bridge send to each other over a
// service. kubelet set it up to 1.23; since then nobody does.
// https://kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/
func bridgeNetfilter() []Sysctl {
	const why = "kube-proxy must see bridged traffic"
	return []Sysctl{
		{Key: "net.bridge.bridge-nf-call-iptables", Value: "1", Why: why, Required: true},
		{Key: "net.bridge.bridge-nf-call-ip6tables", Value: "1", Why: why, Required: true},
	}
}

// brNetfilter is the module behind bridgeNetfilter.
func brNetfilter(optional bool) Module {
	return Module{Name: "br_netfilter", Why: "kube-proxy must see bridged traffic", Optional: optional}
}

// ownLinks is what nearly every network asks of other services: its links are its own, its routes
// stay, its pods' packets pass.
func ownLinks(links ...string) SharedHost {
	return SharedHost{Links: links, Routes: true, Firewall: true}
}

// besides adds to what other services leave alone.
func (s SharedHost) besides(more ...Shared) SharedHost {
	s.Others = append(s.Others, more...)
	return s
}

// enis makes the cloud's further interfaces the network's, where the condition holds (nil: always).
func (s SharedHost) enis(when string, condition func(Input) bool) SharedHost {
	s.ENIs, s.ENIsWhen, s.ENIsIf = true, when, condition
	return s
}

// TakesENIs says that the cloud's further interfaces are the network's.
func (s SharedHost) TakesENIs(in Input) bool { return s.ENIs && (s.ENIsIf == nil || s.ENIsIf(in)) }

// macs adds links whose address udev must not choose. systemd's 99-default.link has
// MACAddressPolicy=persistent: it changes the address of a link after its network has told it to
// the pod or to other nodes.
func (s SharedHost) macs(links ...string) SharedHost {
	s.MAC = append(s.MAC, links...)
	return s
}

// waitConf is the check of the conf directory for this network.
func (in Input) waitConf(file, writer string) *tasks.WaitConf {
	return &tasks.WaitConf{
		Network: in.Node.Networking.Name(), Writer: writer,
		Dir: in.ConfDir, File: file, BinDirs: in.BinDirs,
		FirstOnly: !in.triesOthers(),
		Consumer:  in.consumer(),
	}
}

// podSign is the host's end of each pod's link: until a pod lives on the node it says nothing.
func podSign(link, kind string) HealthCheck {
	return HealthCheck{Text: "each pod has its link", Link: link, Kind: kind, Pods: true,
		Missing: "a pod without one has no network: its events say why (`kubectl describe pod`), and so does the " +
			"runtime's log"}
}

// nodeIPNeeded is what a network asks of kubelet whose pods have addresses of the node's own
// interface.
const nodeIPNeeded = "kubelet needs --node-ip with the node's first address: say spec.kubelet.nodeIP, an address, a " +
	"range or a link, or add it where you start kubelet"

// noteKubeProxy says that the network serves the services, unless a document says that it knows.
// kube-proxy.enabled: true is refused with the documents.
func (b *Built) noteKubeProxy(in Input, path, network string) {
	if in.Node.KubeProxy == nil {
		b.note(Info, in.Origin(path),
			"%s serves the services: kube-proxy must not run on this node (kubeProxy.enabled: false)", network)
	}
}

// protocolBoot is the protocol of routes that programs set without saying who they are
// (linux/rtnetlink.h, RTPROT_BOOT).
const protocolBoot = 3

// allTables stands for every routing table, as in the host's own terms.
const allTables = rtnl.AllTables
