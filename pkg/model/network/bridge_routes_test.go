package network

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// bridgeInput returns a node of bridge with links, and with more in its spec.
func bridgeInput(t *testing.T, spec string) Input {
	t.Helper()
	node, diags := config.Load(tasks.DriftKinds(), []document.Source{{Path: "cluster.yaml", Data: fmt.Appendf(nil, `
apiVersion: netwright.dev/v1alpha1
kind: Cluster
metadata: {name: demo.example.com}
spec:
  kubernetesVersion: 1.36.0
  networking: {bridge: {}}
%s`, spec)}}, config.Select{Node: "node-1"})
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	prefix := netip.MustParsePrefix
	return Input{Node: node, Facts: &host.Facts{Links: []host.LinkFact{
		{Name: "lo", Loopback: true, Addresses: []netip.Prefix{prefix("10.9.9.9/32")}},
		{Name: "eth0", MTU: 1500, Addresses: []netip.Prefix{prefix("10.77.0.11/24"), prefix("fd00:77::11/64"), prefix("192.0.2.7/32")}},
		{Name: BridgeLink, Addresses: []netip.Prefix{prefix("10.244.1.1/24")}},
	}}}
}

// A pod CIDR takes no part of a subnet of this node's links, unless documents state that the subnet
// is for pods.
func TestOnLink(t *testing.T) {
	unsaid, stated := bridgeInput(t, ""), bridgeInput(t, "  podCIDR: \"10.77.0.128/25,fd00:77::/96\"\n  nonMasqueradeCIDR: \"0.0.0.0/0,::/0\"\n")
	for cidr, refused := range map[string][2]bool{
		"10.77.0.248/29": {true, false}, "fd00:77::100/120": {true, false},
		"10.77.0.0/24": {true, true}, "10.77.0.11/32": {true, true}, "192.0.2.7/32": {true, true}, "fd00:77::1:0:0:0/96": {true, true},
		"10.77.0.0/16": {}, "10.78.0.0/24": {}, "10.244.1.0/25": {}, "10.9.9.9/32": {}, "fd00:78::/64": {}, "192.0.2.6/31": {},
	} {
		for i, in := range []Input{unsaid, stated} {
			if why := in.onLink(netip.MustParsePrefix(cidr)); (why != "") != refused[i] {
				t.Errorf("%s, podCIDR %v: %q, want it refused: %t", cidr, in.Node.PodCIDR, why, refused[i])
			}
		}
	}
}

// The same holds for the node's own pods and for a peer's: only that task is refused.
func TestPodsOnLinkAreRefused(t *testing.T) {
	in := bridgeInput(t, "")
	in.PodCIDRs = []netip.Prefix{netip.MustParsePrefix("10.77.0.16/28")}
	for i, pods := range []string{"10.77.0.248/29", "10.244.7.0/24"} {
		in.Peers = append(in.Peers, networks.Peer{Name: fmt.Sprint("peer-", i),
			Address: []netip.Addr{netip.MustParseAddr("10.77.0.12")}, PodCIDRs: []netip.Prefix{netip.MustParsePrefix(pods)}})
	}
	b, err := bridge().Make(in)
	if err != nil {
		t.Fatal(err)
	}
	var refused []graph.Key
	for _, task := range b.Tasks {
		if task.Base().Refused != "" {
			refused = append(refused, task.Owns()[0])
		}
	}
	if want := []graph.Key{"address:cbr0/10.77.0.17/28", "route:254/10.77.0.248/29"}; !slices.Equal(refused, want) {
		t.Errorf("refused: %v, want %v", refused, want)
	}
}
