package config

import (
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// overlaps refuses ranges that overlap. An address of a node that is also a pod's or a service's
// can be reached as only one of the two. Each error names both places.
func (v *validator) overlaps() {
	n := v.node
	for _, r := range []struct {
		path, what string
		ranges     values.CIDRs
	}{{"spec.podCIDR", "podCIDR", n.PodCIDR},
		{"spec.serviceClusterIPRange", "serviceClusterIPRange", n.ServiceClusterIPRange}} {
		if r.what == "podCIDR" && n.Networking.PodsOfVPC() || n.Origin(r.path).IsDefault() {
			continue
		}
		for _, p := range r.ranges {
			if net := n.NetworkCIDR.SameFamily(p); net.IsValid() && net.Overlaps(p) {
				say, expected := v.ErrorAt, "ranges that do not overlap"
				if n.servicesOfVPC(p) {
					say, expected = v.WarnAt, "no subnet of the nodes within it"
				}
				say(r.path, document.Diagnostic{ID: problem.AddressRanges,
					Summary: fmt.Sprintf("%s %s overlaps networkCIDR %s (%s), where the nodes' own addresses lie",
						r.what, p, net, n.Origin("spec.networkCIDR")),
					Expected: expected})
			}
			if a := addressIn(n.Address, p); a.IsValid() {
				v.ErrorAt(r.path, document.Diagnostic{ID: problem.AddressRanges,
					Summary: fmt.Sprintf("%s %s holds this node's own address %s (%s)", r.what, p, a,
						n.Origin("spec.address")),
					Expected: "a range in which no node has an address"})
			}
		}
	}
}

// servicesOfVPC reports whether a range of services lies where kOps puts it when pods have
// addresses of the nodes' network: in the lowest part of that network, which has no subnets.
// https://github.com/kubernetes/kops/blob/master/upup/pkg/fi/cloudup/defaults.go
func (n *Node) servicesOfVPC(services netip.Prefix) bool {
	if !n.Networking.PodsOfVPC() {
		return false
	}
	within := n.NonMasqueradeCIDR.SameFamily(services)
	return within.IsValid() && within == n.NetworkCIDR.SameFamily(services) && within.Contains(services.Addr())
}

func addressIn(addresses values.Addresses, p netip.Prefix) netip.Addr {
	for _, a := range addresses {
		if p.Contains(a) {
			return a
		}
	}
	return netip.Addr{}
}
