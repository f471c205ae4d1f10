package network

import "github.com/netwright/netwright/pkg/cleanup"

const canalConf = "10-canal.conflist"

// canal returns the row of Canal. Netwright prepares the node and waits for the conf. One DaemonSet
// with two daemons writes it: flanneld for the network and Felix for policy. Sources:
// https://github.com/projectcalico/calico (manifests/canal.yaml) and kOps' template up to 1.33
// (upup/models/cloudup/resources/addons/networking.projectcalico.org.canal).
func canal() Network {
	return Network{
		Title: "Flannel's network with Calico's policy, by one DaemonSet; backend vxlan, host-gw, wireguard or udp",
		Docs:  "https://docs.tigera.io/calico/latest/getting-started/kubernetes/flannel/install-for-flannel",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.12"}, {Level: Deprecated, Kops: "1.27"},
				{Level: Removed, Kubernetes: "1.28"}},
			Instead: "calico or cilium",
			Note:    "upstream still has its manifest: with a newer Kubernetes bring it as cni: {}",
		},
		Conf:    byDaemonSet(canalConf, "calico", "portmap", "bandwidth"),
		Plugins: []Plugin{reference("v0.8.0", "bandwidth", "host-local", "loopback", "portmap")},
		Modules: []Module{
			brNetfilter(false), // flanneld exits without it
			{Name: "ip_set", Why: "policy", Optional: true},
			{Name: "vxlan", Why: "flannel.1", Case: canalBackend("vxlan")},
			{Name: "wireguard", Why: "flannel-wg", Case: canalBackend("wireguard")},
			{Name: "tun", Why: "flannel0", Case: canalBackend("udp")},
		},
		Sysctls:    append(forwarding(), bridgeNetfilter()...),
		Kubeconfig: "/etc/cni/net.d/calico-kubeconfig, written by its DaemonSet",
		Ports: []Port{
			{"udp", 8472, "backend vxlan (Calico's own list says 4789: that is not Flannel's)"},
			{"udp", 51820, "backend wireguard"},
			{"udp", 8285, "backend udp"},
			{"tcp", 5473, "Typha"},
		},
		MTU: "flanneld's: MTU of its interface less 50 (vxlan), 80 (wireguard), 28 (udp) or 0 (host-gw); `mtu` " +
			"is that of the pods' links",
		SharedHost: ownLinks("cali*", "flannel*").macs("flannel.1"),
		HealthChecks: []HealthCheck{
			{Text: "flanneld has its lease", Path: "/run/flannel/subnet.env"},
			{Text: "flanneld has its link", Link: "flannel.1", Kind: "vxlan", Case: canalBackend("vxlan")},
			{Text: "Calico knows its node", Path: "/var/lib/calico/nodename"},
			felixReady(),
			podSign("cali*", "veth"),
		},
		Untestable: canalUntestable(),
		Residue:    canalResidue(),
		TestedBy: []Proof{{"Calico's plugin supports the version of the conf that its installer writes, and reads " +
			"the conf",
			"test/plugins TestPlugins"},
			{"pods of two nodes reach each other with the real flanneld, calico-node and plugin, and an etcd for " +
				"both; verify names the sign of life that is missing", "test/e2e TestPodsTalkByCanal"},
			{"a switch to another network removes all that both daemons made",
				"test/cleanup TestSwitchesFromDaemonsLeaveNothing"}},
		Modes:  flannelModes(canalBackend),
		Agents: []string{"calico-node", "kube-flannel"},
		Build:  buildCanal,
	}
}

func canalBackend(name string) Case {
	return Case{"backend " + name,
		func(in Input) bool { return in.Node.Networking.Canal.Backend == name }}
}

// canalResidue returns what flanneld and Felix leave. Canal has no BIRD and no tunnel of Calico, so
// all its routes are flanneld's.
func canalResidue() cleanup.Residue {
	l := flannelResidue()
	l.Portmap = []string{kubenetName}
	l.Files = append(l.Files, "/etc/cni/net.d/"+canalConf, "/etc/cni/net.d/calico-kubeconfig", "/opt/cni/bin/calico",
		"/opt/cni/bin/calico-ipam", "/opt/cni/bin/calico.tmp", "/opt/cni/bin/calico-ipam.tmp", "/var/lib/calico/", "/run/calico/",
		"/var/log/calico/", "/var/lib/cni/networks/"+kubenetName+"/", "/var/lib/cni/results/"+kubenetName+"-*")
	return felixResidue(l)
}

// canalAdds has what flanneld subtracts from the MTU of its link for its own device. Larger packets
// of pods do not pass that device (pkg/backend of https://github.com/flannel-io/flannel).
var canalAdds = map[string]encapsulation{"vxlan": {by: "VXLAN", sure: 50}, "wireguard": {by: "WireGuard", sure: 80},
	"udp": {by: "backend udp", sure: 28}}

func buildCanal(in Input, b *Built) error {
	c := in.Node.Networking.Canal
	if c.DisableTxChecksumOffloading {
		b.noteTxChecksum(in)
	}
	if c.DefaultEndpointToHostAction == "DROP" {
		b.note(Warning, in.Origin("spec.networking.canal.defaultEndpointToHostAction"),
			"DROP: pods do not reach their own node, not its kubelet and not its node-local DNS either, unless a "+
				"policy allows it")
	}
	return b.fitMTU(in, "spec.networking.canal.mtu", c.MTU, canalAdds[c.Backend])
}

func canalUntestable() []Untestable {
	all := calicoUntestable()[:1]
	all[0].Case = Case{}
	return all
}
