package config

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// claim is one pod CIDR of one node.
type claim struct {
	prefix netip.Prefix
	node   networks.Peer
}

// members checks the nodes of a network without a controller against each other: each pod CIDR has
// a next hop of its family, no two overlap, and no node's address lies in a pod CIDR. The pod CIDRs
// are sorted once, so 5000 nodes take milliseconds.
func (v *validator) members(all []networks.Peer) {
	var claims []claim
	for _, p := range all {
		for _, prefix := range p.PodCIDRs {
			claims = append(claims, claim{prefix, p})
			v.memberRange(p, prefix)
		}
	}
	slices.SortStableFunc(claims, func(a, b claim) int {
		return cmp.Or(a.prefix.Addr().Compare(b.prefix.Addr()), a.prefix.Bits()-b.prefix.Bits(),
			strings.Compare(a.node.Origin.File, b.node.Origin.File), a.node.Origin.Line-b.node.Origin.Line)
	})
	disjoint := claims[:0:0]
	for _, c := range claims {
		if len(disjoint) > 0 && disjoint[len(disjoint)-1].prefix.Overlaps(c.prefix) {
			first := disjoint[len(disjoint)-1]
			v.memberError(c.node, fmt.Sprintf("pod range %s of node %s overlaps %s of node %s (%s)", c.prefix,
				c.node.Name, first.prefix, first.node.Name, first.node.Origin),
				"ranges that do not overlap", "")
			continue
		}
		disjoint = append(disjoint, c)
	}
	v.addresses(all, disjoint)
}

// memberRange checks one pod CIDR by itself.
func (v *validator) memberRange(p networks.Peer, prefix netip.Prefix) {
	n := v.node
	if prefix.Addr().BitLen()-prefix.Bits() < 2 {
		v.memberError(p, fmt.Sprintf("pod range %s of node %s is too small", prefix, p.Name),
			"room for a gateway and pods: at most /30, or /126 for IPv6", "")
	}
	if whole := n.NonMasqueradeCIDR.SameFamily(prefix); whole.IsValid() && !values.Within(prefix, whole) {
		v.memberError(p, fmt.Sprintf("pod range %s of node %s is not within nonMasqueradeCIDR %s (%s)", prefix, p.Name,
			whole, n.Origin("spec.nonMasqueradeCIDR")), "",
			"traffic between pods would be masqueraded: set spec.nonMasqueradeCIDR to a range that holds all pods")
	} else if pods := n.PodCIDR.SameFamily(prefix); pods.IsValid() && !values.Within(prefix, pods) &&
		!n.Origin("spec.podCIDR").IsDefault() {
		severity := document.SeverityWarning
		if v.Checks {
			severity = document.SeverityError
		}
		v.ReportAt(p.Origin, document.Diagnostic{Severity: severity, ID: problem.AddressRanges, Field: "spec.podCIDRs",
			Summary: fmt.Sprintf("pod range %s of node %s is not within podCIDR %s (%s)", prefix, p.Name, pods,
				n.Origin("spec.podCIDR")),
			Expected: ownPart})
	}
	if hop := p.Address.Family(prefix.Addr().Is4()); !hop.IsValid() && p.Name != n.Name {
		family := "IPv6"
		if prefix.Addr().Is4() {
			family = "IPv4"
		}
		v.memberError(p, fmt.Sprintf("node %s has pod range %s, but no %s address to route it to", p.Name, prefix,
			family), "address: the node's own address, as other nodes reach it", "")
	}
}

// addresses checks that no two nodes have the same address, and that none lies in a pod CIDR.
func (v *validator) addresses(all []networks.Peer, claims []claim) {
	owner := make(map[netip.Addr]networks.Peer, len(all))
	for _, p := range all {
		for _, a := range p.Address {
			if first, taken := owner[a]; taken {
				v.memberErrorAt("spec.address", p.AddressOrigin, fmt.Sprintf("nodes %s and %s have the same address %s (%s)",
					p.Name, first.Name, a, first.AddressOrigin), "an address of its own", "")
				continue
			}
			owner[a] = p
			i, _ := slices.BinarySearchFunc(claims, a, func(c claim, a netip.Addr) int {
				if c.prefix.Addr().Compare(a) <= 0 {
					return -1
				}
				return 1
			})
			if i > 0 && claims[i-1].prefix.Contains(a) {
				c := claims[i-1]
				v.memberErrorAt("spec.address", p.AddressOrigin, fmt.Sprintf("address %s of node %s lies in pod range %s of "+
					"node %s (%s)", a, p.Name, c.prefix, c.node.Name, c.node.Origin), "", "")
			}
		}
	}
}

func (v *validator) memberError(p networks.Peer, summary, expected, hint string) {
	v.memberErrorAt("spec.podCIDRs", p.Origin, summary, expected, hint)
}

func (v *validator) memberErrorAt(field string, at document.Origin, summary, expected, hint string) {
	v.ReportAt(at, document.Diagnostic{Severity: document.SeverityError, ID: problem.BridgeNodes,
		Field: field, Summary: summary, Expected: expected, Hint: hint})
}
