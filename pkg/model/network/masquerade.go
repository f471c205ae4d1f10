package network

import (
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/tasks"
)

// tableName is the name of our nft tables. There is one for ip and one for ip6, because NAT in the
// inet family needs kernel 5.2.
const tableName = "netwright"

// prioritySourceNAT is the hook priority of source NAT (NF_IP_PRI_NAT_SRC).
const prioritySourceNAT = 100

// addMasquerade adds nft tables that give packets of pods to destinations outside of
// nonMasqueradeCIDR the node's address. Pods of the cluster and multicast groups never count as
// outside, even if nonMasqueradeCIDR does not include them. A family with no range, or with the
// range /0, is not masqueraded. Packets that leave through link (from pod to pod on the bridge)
// keep their address. gateways are the addresses on link that make the ranges: if these are not
// set, pods have other ranges, and the table that is there is theirs.
func (b *Built) addMasquerade(in Input, pods []netip.Prefix, link string, gateways ...netip.Prefix) {
	for _, family := range []struct {
		name string
		keep netip.Prefix
	}{{"ip", in.Node.NonMasqueradeCIDR.V4()}, {"ip6", in.Node.NonMasqueradeCIDR.V6()}} {
		sources := sameFamily(pods, family.keep)
		if !family.keep.IsValid() || family.keep.Bits() == 0 || len(sources) == 0 {
			continue
		}
		meta := tasks.Meta{From: in.Origin("spec.nonMasqueradeCIDR"),
			Why: "only what leaves " + family.keep.String() + " takes the node's address"}
		for _, gw := range sameFamily(gateways, family.keep) {
			meta.Requires = append(meta.Requires, tasks.AddressKey(link, gw))
		}
		b.add(tasks.Table{
			Meta: meta,
			Table: firewall.Table{Family: family.name, Name: tableName, Chains: []firewall.Chain{{
				Name: "postrouting", Type: "nat", Hook: "postrouting", Priority: prioritySourceNAT, Policy: "accept",
				Rules: []firewall.NFRule{{SrcIn: sources, DstNotIn: inside(in, family.keep), OIFNot: link,
					Verdict: "masquerade"}},
			}}}})
	}
}

// multicast are the ranges of multicast addresses (RFC 5771, RFC 4291). Receivers expect the
// sender's own address, and no answer comes back that NAT could translate.
var multicast = []netip.Prefix{netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("ff00::/8")}

// inside returns nonMasqueradeCIDR, pod ranges of the cluster that do not overlap it, and
// multicast.
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
