package traffic

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/probe"
)

// outsideFrom checks that a pod reaches an address outside of the cluster.
func (bed *testbed) outsideFrom(ctx context.Context) verify.Result {
	for _, at := range bed.outside.at {
		if _, err := reach(ctx, bed.a.NetNS, at, "outside"); err != nil {
			return failed(err.Error(), bed.dropping())
		}
	}
	return well("a pod reaches what is neither pod nor node")
}

// masquerade checks with which address a pod is seen: other pods must see its own, and the outside
// must see the node's where the agent masquerades.
func (bed *testbed) masquerade(ctx context.Context) verify.Result {
	for _, to := range bed.b.Addresses {
		says, err := reach(ctx, bed.a.NetNS, netip.AddrPortFrom(to.Addr(), endpointPort), bed.b.Name)
		if r := bed.seenBy("another pod of this node", to.Addr(), says, err); r.State != verify.OK {
			return r
		}
	}
	seen := "pods of this node see each other's own addresses"
	if !bed.passes {
		return well(seen)
	}
	for _, at := range bed.outside.at {
		says, err := reach(ctx, bed.a.NetNS, at, "outside")
		r := bed.seenBy("the outside", at.Addr(), says, err)
		if r.State != verify.OK {
			return r
		}
		seen += "; " + r.Seen
	}
	return well(seen)
}

// seenBy judges the address with which pod a is seen. Pods must always see its own (Kubernetes'
// rule for networks), and so must destinations in Unmasqueraded.
func (bed *testbed) seenBy(who string, at netip.Addr, says hello, err error) verify.Result {
	own := bed.a.Address(at)
	from := says.From.Addr()
	kept := slices.ContainsFunc(bed.want.Unmasqueraded, func(p netip.Prefix) bool { return p.Contains(at) })
	pod := bed.b.Address(at) == at
	switch {
	case err != nil:
		return notApplicable(fmt.Sprintf("%s is not reached: %s", who, err))
	case pod && from != own, bed.want.Masquerades && kept && from != own:
		return failed(fmt.Sprintf("%s (%s) sees %s, and not the pod's own %s", who, at, from, own),
			"something masquerades what stays in the cluster: `nft list ruleset | grep masquerade`, `iptables -t "+
				"nat -S POSTROUTING`; is nonMasqueradeCIDR wide enough?")
	case bed.want.Masquerades && !pod && !kept && bed.want.unmasquerades(at) && from == own:
		return failed(fmt.Sprintf("%s (%s) sees the pod's own %s, to which nobody there can answer", who, at, own),
			"nothing masquerades: `agent --once` writes the rule; `nft list table ip netwright` shows it")
	}
	return well(fmt.Sprintf("%s sees %s", who, from))
}

// reachService checks that a pod reaches a service that the caller names. Any program that accepts
// the connection is enough.
func (bed *testbed) reachService(ctx context.Context, to netip.AddrPort) verify.Result {
	if !bed.a.Address(to.Addr()).IsValid() {
		return notApplicable("pods have no address of its family")
	}
	if err := probe.Connect(ctx, bed.a.NetNS, to); err != nil {
		next := "does kube-proxy run here, and has the service an endpoint? `kubectl get endpointslices -A`"
		if errors.Is(err, probe.ErrNoAnswer) {
			next += "; " + bed.unbridged()
		}
		return failed(err.Error(), next)
	}
	return well("a pod reaches it")
}

// resolved checks that a pod can query the cluster's DNS.
func (bed *testbed) resolved(ctx context.Context) verify.Result {
	r := well("")
	for _, server := range bed.want.Resolvers {
		if !bed.a.Address(server).IsValid() {
			continue
		}
		seen, err := probe.Resolve(ctx, bed.a.NetNS, server, verify.ClusterName)
		if err != nil {
			return failed(err.Error(), verify.Unresolved(err)+"; does kube-proxy run here? if the node itself is "+
				"answered, pods' way to services is broken: "+bed.unbridged())
		}
		r.Seen = fmt.Sprintf("%s answers: %s", server, seen)
	}
	return r
}
