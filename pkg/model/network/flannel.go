package network

import (
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config/values"
)

const flannelConf = "10-flannel.conflist"

// flannel returns the row of Flannel. Netwright prepares the node and waits for the conf, which the
// DaemonSet writes.
func flannel() Network {
	return Network{
		Title: "by a DaemonSet: an overlay (vxlan, wireguard, udp) or plain routes (host-gw); no network policy",
		Docs:  "https://github.com/flannel-io/flannel",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.5.2", Of: "backend udp", If: flannelBackend("udp").If},
				{Level: Experimental, Kops: "1.8.0", Of: "backend vxlan", If: flannelBackend("vxlan").If}},
			First: version(1, 2),
			Note: "kOps deploys the backends udp and vxlan; wireguard (flannel 0.17) and host-gw are for who deploys " +
				"it otherwise",
		},
		Conf: byDaemonSet(flannelConf, "flannel", "portmap"),
		Plugins: []Plugin{
			{Asset: CNIPlugins, Members: []string{"bridge", "host-local", "loopback", "portmap"}, Minimum: "v0.8.0",
				Source: "https://github.com/flannel-io/cni-plugin"},
			{Asset: CNIPlugins, Members: []string{"flannel"},
				Case: Case{"plugins below 1.0.0 (Kubernetes below 1.27) have it; since then its DaemonSet brings it", oldPlugins}},
		},
		Modules: []Module{
			brNetfilter(false), // without it flanneld exits
			{Name: "vxlan", Why: "flannel.1", Case: flannelBackend("vxlan")},
			{Name: "tun", Why: "flannel0", Case: flannelBackend("udp")},
			{Name: "wireguard", Why: "flannel-wg", Case: flannelBackend("wireguard")},
		},
		Sysctls: append(forwarding(), bridgeNetfilter()...),
		Ports: []Port{
			{"udp", 8472, "backend vxlan"},
			{"udp", 8285, "backend udp"},
			{"udp", 51820, "backend wireguard"},
			{"udp", 51821, "backend wireguard, IPv6"},
		},
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		MTU:        "flanneld's: MTU of its interface less 50 (vxlan), 28 (udp), 80 (wireguard) or nothing (host-gw)",
		// https://github.com/flannel-io/flannel/blob/master/Documentation/configuration.md#dual-stack
		IPv6: true, IPv6If: flannelIPv6,
		IPv6When: "flannel 0.15 and newer and a backend other than udp, outside of kOps' clusters",
		HealthChecks: []HealthCheck{
			{Text: "flanneld has its lease", Path: "/run/flannel/subnet.env",
				Missing: "no pod gets an address: the node has no pod CIDR yet, or flanneld does not run (check " +
					"that br_netfilter is loaded)"},
			{Text: "the VXLAN device is up", Link: "flannel.1", Kind: "vxlan",
				Case:    flannelBackend("vxlan").and(withIPv4),
				Missing: "pods of other nodes are not reached: flanneld makes the device when it starts"},
			{Text: "the VXLAN device of IPv6 is up", Link: "flannel-v6.1", Kind: "vxlan",
				Case: flannelBackend("vxlan").and(withIPv6),
				Missing: "pods of other nodes are not reached over IPv6: flanneld makes it where its net-conf.json has " +
					"EnableIPv6, and the node an IPv6 default route"},
			{Text: "the tunnel device is up", Link: "flannel0", Kind: "tun",
				Case: flannelBackend("udp"), Missing: "pods of other nodes are not reached: flanneld makes the " +
					"device when it starts"},
			{Text: "the WireGuard device is up", Link: "flannel-wg", Kind: "wireguard",
				Case: flannelBackend("wireguard"),
				Missing: "pods of other nodes are not reached: flanneld makes the device when it starts, and " +
					"removes the device when it stops"},
			{Text: "the pods' bridge has the lease's address", Path: "/run/flannel/subnet.env", Lease: "cni0 FLANNEL_SUBNET",
				Missing: "the plugin bridge makes no pod: another network had cni0, or the node another pod CIDR; remove the " +
					"pods on it, then `ip link delete cni0`"},
			podSign("veth*", "veth"),
		},
		SharedHost: ownLinks("flannel*", "cni0", "veth*").macs("flannel.1", "flannel-v6.1"),
		Residue:    flannelResidue(),
		Modes:      flannelModes(flannelBackend),
		Agents:     []string{"kube-flannel"},
		TestedBy: []Proof{
			{"pods of two nodes reach each other with the real flanneld and plugin, by udp, vxlan and host-gw; " +
				"verify names the sign of life that is missing", "test/e2e TestPodsTalkByFlannel"},
			{"a switch to another network removes all that the real flanneld made, with each of these backends",
				"test/cleanup TestSwitchesFromDaemonsLeaveNothing"},
			{"under real kubelets it replaces bridge, and its own pods install it",
				"test/e2e TestKubernetesKubeletSwitches"},
		},
		Build: buildFlannel,
	}
}

func flannelBackend(name string) Case {
	return Case{"backend " + name,
		func(in Input) bool { return in.Node.Networking.Flannel.Backend == name }}
}

// flannelIPv6 reports whether pods may have IPv6. In a kOps cluster they may not, because kOps
// writes no IPv6Network into Flannel's net-conf.json.
func flannelIPv6(in Input) bool { return !in.Node.OfKops() && !flannelBackend("udp").If(in) }

// flannelResidue returns what flanneld leaves with every backend, and what the backends leave that
// no document can choose.
func flannelResidue() cleanup.Residue {
	return cleanup.Residue{
		Portmap: []string{"cbr0"},
		Units:   []string{"flannel-tx-checksum-offload-disable.service"},
		Links: []cleanup.LinkSelector{{Name: "cni0", Kind: "bridge"}, {Name: "veth*", Kind: "veth", Master: "cni0"},
			{Name: "flannel.ipip", Kind: "ipip"}},
		Routes: []cleanup.RouteSelector{{Pods: true, Protocol: protocolBoot, Type: "blackhole"}},
		Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "FLANNEL-POSTRTG"}, {Chain: "FLANNEL-FWD"},
			{Table: "nat", Chain: "POSTROUTING", Comment: "flanneld masq"},
			{Table: "filter", Chain: "FORWARD", Comment: "flanneld forward"}},
		Tables: []cleanup.TableSelector{{Family: "ip", Name: "flannel-ipv4"}, {Family: "ip6", Name: "flannel-ipv6"}},
		Files: []string{"/run/flannel/", "/var/lib/cni/flannel/", "/var/lib/cni/networks/cbr0/", "/var/lib/cni/results/cbr0-*",
			"/etc/cni/net.d/" + flannelConf, "/opt/cni/bin/flannel", "/etc/udev/rules.d/90-flannel.rules",
			"/etc/systemd/system/flannel-tx-checksum-offload-disable.service"},
		// Flannel's policies are between pod CIDRs of nodes (pkg/backend/ipsec: defaultReqID,
		// AddXFRMPolicy). The reqid alone proves nothing, because strongSwan may give it to other
		// tunnels.
		XFRM: []cleanup.XFRMSelector{{ReqID: 11, Pods: true, States: true}},
		Others: []string{"rules of flannel below 0.16 in nat POSTROUTING and in FORWARD, by the range of all " +
			"pods: they have no comment, so that others' rules look the same (`iptables-save` shows them, a reboot takes them)",
			"the node's annotations flannel.alpha.coreos.com/* in the API"},
	}
}

// flannelModes returns what each backend leaves: its link with the routes to other nodes, or only
// routes. flanneld removes none of it when it starts with another backend (pkg/backend).
func flannelModes(backend func(string) Case) []DataplaneMode {
	byLinks := func(name, kind string, links ...string) DataplaneMode {
		m := DataplaneMode{Of: "backend", Name: name, If: backend(name).If}
		for _, link := range links {
			m.Residue.Links = append(m.Residue.Links, cleanup.LinkSelector{Name: link, Kind: kind})
			m.Residue.Routes = append(m.Residue.Routes, cleanup.RouteSelector{Link: link, Pods: true})
		}
		return m
	}
	return []DataplaneMode{
		byLinks("vxlan", "vxlan", "flannel.1", "flannel-v6.1"), byLinks("udp", "tun", "flannel0"),
		byLinks("wireguard", "wireguard", "flannel-wg", "flannel-wg-v6"),
		// The routes lead to the pod CIDR of another node through that node's address. They have
		// the protocol boot, as routes of a person have.
		{Of: "backend", Name: "host-gw", If: backend("host-gw").If, Residue: cleanup.Residue{Routes: []cleanup.RouteSelector{
			{Pods: true, Protocol: protocolBoot, Type: "unicast", Via: true}}}},
	}
}

// oldPlugins reports whether the reference plugins are older than 1.0.0. Those include flannel.
func oldPlugins(in Input) bool {
	for _, a := range in.Node.Assets {
		if a.Name == CNIPlugins {
			v, err := values.ParseVersion(a.Version)
			return err == nil && !v.AtLeast(1, 0)
		}
	}
	return !in.Node.KubernetesVersion.AtLeast(1, 27)
}

func buildFlannel(in Input, b *Built) error {
	if in.Node.Networking.Flannel.DisableTxChecksumOffloading {
		b.noteTxChecksum(in)
	}
	if in.Node.Networking.Flannel.Backend == "host-gw" {
		b.note(Info, in.Origin("spec.networking.flannel.backend"),
			"host-gw routes by the nodes' own addresses: every node must reach every other without a router between "+
				"them")
	}
	return nil
}

// noteTxChecksum warns that the setting disableTxChecksumOffloading has no effect.
func (b *Built) noteTxChecksum(in Input) {
	b.note(Warning, in.Origin("spec.networking."+in.Node.Networking.Name()+".disableTxChecksumOffloading"),
		"disableTxChecksumOffloading does nothing, as in kOps since 1.19: kernels and kube-proxy since Kubernetes "+
			"1.18.6 do without; else run `ethtool -K flannel.1 tx-checksum-ip-generic off` from a hook")
}
