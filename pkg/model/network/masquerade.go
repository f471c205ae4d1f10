package network

import (
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/tasks"
)

// tableName is the name of our nft tables. There is one a family (ip, ip6): NAT in the inet family
// needs kernel 5.2.
const tableName = "netwright"

// prioritySourceNAT is where source NAT belongs (NF_IP_PRI_NAT_SRC).
const prioritySourceNAT = 100

// addMasquerade hides pod addresses from what lies outside of nonMasqueradeCIDR, and from nothing
// else: a pod anywhere in the cluster is never outside, though the ranges may be written so, and a
// multicast group is nobody's outside. A family without a range, or with all of it (/0), is not
// masqueraded. What leaves through link (pod to pod on the bridge) keeps its address.
func (b *Built) addMasquerade(in Input, pods []netip.Prefix, link string) {
	for _, family := range []struct {
		name string
		keep netip.Prefix
	}{{"ip", in.Node.NonMasqueradeCIDR.V4()}, {"ip6", in.Node.NonMasqueradeCIDR.V6()}} {
		sources := sameFamily(pods, family.keep)
		if !family.keep.IsValid() || family.keep.Bits() == 0 || len(sources) == 0 {
			continue
		}
		b.Tasks = append(b.Tasks, tasks.Table{
			Meta: tasks.Meta{From: in.Origin("spec.nonMasqueradeCIDR"),
				Why: "only what leaves " + family.keep.String() + " takes the node's address"},
			Table: firewall.Table{Family: family.name, Name: tableName, Chains: []firewall.Chain{{
				Name: "postrouting", Type: "nat", Hook: "postrouting", Priority: prioritySourceNAT, Policy: "accept",
				Rules: []firewall.NFRule{{SrcIn: sources, DstNotIn: inside(in, family.keep), OIFNot: link,
					Verdict: "masquerade"}},
			}}}})
	}
}

// multicast is where group addresses lie (RFC 5771, RFC 4291): who receives them expects the
// sender's own address, and nothing answers to a translated one.
var multicast = []netip.Prefix{netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("ff00::/8")}

// inside is nonMasqueradeCIDR, what of the cluster's pod ranges it does not cover, and multicast.
func inside(in Input, keep netip.Prefix) []netip.Prefix {
	out := []netip.Prefix{keep}
	add := func(cidrs []netip.Prefix) {
		for _, c := range sameFamily(cidrs, keep) {
			if !slices.ContainsFunc(out, c.Overlaps) {
				out = append(out, c)
			}
		}
	}
	add(in.Node.PodCIDR)
	for _, peer := range in.Peers {
		add(peer.PodCIDRs)
	}
	add(multicast)
	return out
}

func sameFamily(cidrs []netip.Prefix, as netip.Prefix) []netip.Prefix {
	var out []netip.Prefix
	for _, c := range cidrs {
		if c.Addr().Is4() == as.Addr().Is4() {
			out = append(out, c)
		}
	}
	return out
}
