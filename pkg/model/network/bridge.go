package network

import (
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// bridgeConf is the file name of the conf. It sorts before every 10-… conf that DaemonSets,
// containerd, CRI-O and podman leave behind, so that the runtime does not use such a leftover. It
// sorts after 00-multus.conf, because multus must come first and calls our conf. No other program
// uses this name.
const bridgeConf = "05-netwright-bridge.conflist"

// bridge returns the row of a Linux bridge with host-local addresses and static routes between
// nodes. The agent alone writes all of it. The network has no pods, so it has no Agents.
func bridge() Network {
	return Network{
		Title: "Linux bridge cbr0, host-local addresses, static routes between nodes; no DaemonSet, no controller",
		Docs:  "https://www.cni.dev/plugins/current/main/bridge/",
		Lifecycle: Lifecycle{
			First: version(1, 2),
		},
		Conf:    Conf{Writer: WriterNetwright, File: bridgeConf, Chain: []string{"bridge", "portmap", "bandwidth"}},
		Plugins: []Plugin{reference("v0.8.0", "bridge", "host-local", "loopback", "portmap"), bandwidthPlugin()},
		Modules: []Module{brNetfilter(false), {Name: "bridge", Why: "cbr0"}, {Name: "veth", Why: "pods"}},
		Sysctls: append(append(forwarding(), bridgeNetfilter()...),
			// A host's default may be none (1). Then the bridge has no link-local address (fe80::),
			// from which it looks for the pods by neighbour discovery.
			// Documentation/networking/ip-sysctl.rst
			Sysctl{Key: "net.ipv6.conf." + BridgeLink + ".addr_gen_mode", Value: "0", Optional: true,
				Why: "the bridge finds its pods by a link-local address", Case: withIPv6}),
		MTU: "the smallest MTU of the links that are up (kubenet's rule, ours left out); `mtu` overrides; " +
			"below 576 is an error",
		IPv6:       true,
		SharedHost: ownLinks("cbr0", "veth*"),
		HealthChecks: []HealthCheck{
			{Text: "the bridge of the pods is up", Link: BridgeLink, Kind: "bridge",
				Missing: "run `agent --once`: it makes the bridge"},
			{Text: "each pod has its link", Link: "veth*", Kind: "veth", Master: BridgeLink, Pods: true,
				Missing: "a pod without a link has no network: if somebody deleted the bridge, delete the pods that " +
					"were on it (`kubectl delete pod`), and kubelet makes new ones; otherwise their events say why"},
		},
		Residue: cleanup.Residue{
			Portmap: []string{bridgeName},
			Links: []cleanup.LinkSelector{{Name: BridgeLink, Kind: "bridge"},
				{Name: "veth*", Kind: "veth", Master: BridgeLink}},
			Routes: []cleanup.RouteSelector{{Protocol: rtnl.RouteProtocol, Pods: true}},
			Tables: []cleanup.TableSelector{{Family: "ip", Name: "netwright"}, {Family: "ip6", Name: "netwright"}},
			Chains: []cleanup.ChainSelector{{Table: "filter", Chain: "FORWARD", Comment: "netwright"}},
			Files: []string{"/var/lib/cni/networks/" + bridgeName + "/",
				"/var/lib/cni/results/" + bridgeName + "-*"},
		},
		TestedBy: []Proof{
			{"pods of two nodes reach each other with their own addresses; only hosts outside see another one",
				"test/e2e TestPodsTalk"},
			{"the traffic of pods is limited to the rates of their annotations", "test/e2e TestPodsTrafficIsShaped"},
			{"containerd loads the conf", "test/e2e TestContainerdLoadsTheConf"},
			{"pods of real kubelets reach services by kube-proxy in both of its modes, also those of a pod on the " +
				"same bridge",
				"test/e2e TestKubernetesKubeletServices"},
			{"a switch to another network removes what this network had, and nothing else",
				"test/e2e TestSwitchOfNetworkRollbackAndResume"},
			{"a reset leaves the node as it was", "test/e2e TestResetLeavesNoTrace"},
		},
		// A node that has its own ranges from the API has the ranges of the other nodes from there
		// too.
		Nodes: func(n *config.Node) NodesWanted {
			return NodesWanted{Own: len(n.PodCIDRs) == 0, Peers: len(n.PodCIDRs) == 0}
		},
		Build: buildBridge,
	}
}

// bridgeName is the name of the CNI network. libcni's cached results and host-local's leases are
// stored by this name, so no other network may use it. Several networks share k8s-pod-network and
// cbr0.
const bridgeName = "netwright-bridge"

func buildBridge(in Input, b *Built) error {
	b.KubeletPlugin = "cni"
	if len(in.PodCIDRs) == 0 {
		b.awaitPodCIDRs(in, "bridge needs addresses for its pods", ", or under networking.bridge.nodes")
		return nil
	}
	gateways, err := gatewaysOf(in.PodCIDRs)
	if err != nil {
		return fmt.Errorf("lay out bridge for this node: %w", err)
	}
	mtu := in.Node.Networking.Bridge.MTU
	if err := b.fitMTU(in, "spec.networking.bridge.mtu", mtu, encapsulation{}); err != nil {
		return err
	}
	if mtu == 0 {
		if mtu, err = LinkMTU(in.Facts.Links, BridgeLink); err != nil {
			return fmt.Errorf("lay out bridge for this node: %w", err)
		}
	}
	if in.V6 && mtu < minimumMTU6 {
		return fmt.Errorf("lay out bridge for this node: pods have IPv6, and the MTU would be %d, below the %d "+
			"that IPv6 needs: raise the MTU of the node's links", mtu, minimumMTU6)
	}
	link := in.Meta("the pods' bridge, ready before the first pod")
	link.Requires = append(link.Requires, tasks.ModuleKey("bridge"))
	b.add(tasks.Link{Meta: link,
		Name: BridgeLink, Kind: "bridge", MTU: mtu, Up: true, MAC: bridgeMAC(gateways[0].Addr())})
	for _, gw := range gateways {
		meta := in.Meta("the pods' gateway")
		meta.Refused = in.onLink(gw.Masked())
		b.add(tasks.Address{Meta: meta, Link: BridgeLink, Prefix: gw})
	}
	b.addRoutes(in)
	b.addMasquerade(in, in.PodCIDRs, BridgeLink, gateways...)
	b.add(tasks.ForwardAccept{Meta: in.Meta("a policy of drop would cut the pods off"),
		Link: BridgeLink, Families: familiesOf(in.PodCIDRs)})
	if err := b.addBridgeConf(in, mtu, gateways); err != nil {
		return err
	}
	b.Wait = in.waitConf(bridgeConf, "we write it")
	return nil
}

// gatewaysOf returns the first address of each range, with the range's prefix length: the addresses
// of cbr0.
func gatewaysOf(cidrs []netip.Prefix) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, c := range cidrs {
		if room := c.Addr().BitLen() - c.Bits(); room < 2 {
			return nil,
				fmt.Errorf("use pod CIDR %s: it has no room for a gateway and a pod: give this node a larger range", c)
		}
		out = append(out, netip.PrefixFrom(c.Masked().Addr().Next(), c.Bits()))
	}
	return out, nil
}

// familiesOf returns the address families of the ranges, 4 and 6.
func familiesOf(cidrs values.CIDRs) []int {
	var out []int
	if cidrs.V4().IsValid() {
		out = append(out, 4)
	}
	if cidrs.V6().IsValid() {
		out = append(out, 6)
	}
	return out
}

// bridgeMAC returns a MAC address for the bridge that depends only on its IP address, as docker and
// kubenet do (0a:58, locally administered). Without it the kernel gives a bridge the lowest MAC of
// its ports, which changes when pods come and go.
func bridgeMAC(gateway netip.Addr) string {
	b := gateway.AsSlice()
	b = b[len(b)-4:]
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}

func (b *Built) addBridgeConf(in Input, mtu int, gateways []netip.Prefix) error {
	ipam := hostLocal{Type: "host-local"}
	for i, c := range in.PodCIDRs {
		ipam.Ranges = append(ipam.Ranges, []ipRange{{Subnet: c.String(), Gateway: gateways[i].Addr().String()}})
		ipam.Routes = append(ipam.Routes, ipRoute{Dst: anyOf(c.Addr()).String()})
	}
	conf := conflist{CNIVersion: confVersion(in.Node.KubernetesVersion), Name: bridgeName, Plugins: append([]any{
		bridgePlugin{Type: "bridge", Bridge: BridgeLink, IsGateway: true, Hairpin: in.Node.Networking.Bridge.Hairpin,
			MTU: mtu, IPAM: ipam},
		portmap(),
	}, in.shaping()...)}
	return b.addConf(in, bridgeConf, conf)
}
