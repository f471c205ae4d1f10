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

// outsideFrom has a pod reach what is no pod, not the node and not of the cluster.
func (s *scene) outsideFrom(ctx context.Context) verify.Result {
	if !s.passes {
		return verify.Result{Check: checkOutside, State: verify.NotHere, Seen: passedBy}
	}
	for _, at := range s.outside.at {
		if _, err := s.reach(ctx, s.a.NetNS, at, "outside"); err != nil {
			return verify.Result{Check: checkOutside, State: verify.Failed, Seen: err.Error(), Next: s.dropping()}
		}
	}
	return verify.Result{Check: checkOutside, State: verify.OK, Seen: "a pod reaches what is neither pod nor node"}
}

// masquerade looks by which address a pod is seen: its own by other pods, the node's outside where
// we masquerade.
func (s *scene) masquerade(ctx context.Context) verify.Result {
	for _, to := range s.b.Addresses {
		says, err := s.reach(ctx, s.a.NetNS, netip.AddrPortFrom(to.Addr(), endpointPort), s.b.Name)
		if r := s.seenBy("another pod of this node", to.Addr(), says, err); r.State != verify.OK {
			return r
		}
	}
	seen := "pods of this node see each other's own addresses"
	if !s.passes {
		return verify.Result{Check: checkMasquerade, State: verify.OK, Seen: seen}
	}
	for _, at := range s.outside.at {
		says, err := s.reach(ctx, s.a.NetNS, at, "outside")
		r := s.seenBy("the outside", at.Addr(), says, err)
		if r.State != verify.OK {
			return r
		}
		seen += "; " + r.Seen
	}
	return verify.Result{Check: checkMasquerade, State: verify.OK, Seen: seen}
}

// seenBy judges by which address somebody sees pod a. Pods see its own, always (Kubernetes' rule
// for networks); so does what lies within Keep.
func (s *scene) seenBy(who string, at netip.Addr, says hello, err error) verify.Result {
	own := s.a.Address(at)
	from := says.From.Addr()
	kept := slices.ContainsFunc(s.want.Keep, func(p netip.Prefix) bool { return p.Contains(at) })
	pod := s.b.Address(at) == at
	r := verify.Result{Check: checkMasquerade, State: verify.OK, Seen: fmt.Sprintf("%s sees %s", who, from)}
	switch {
	case err != nil:
		r.State, r.Seen = verify.NotHere, fmt.Sprintf("%s is not reached: %s", who, err)
	case pod && from != own, s.want.Masquerades && kept && from != own:
		r.State = verify.Failed
		r.Seen = fmt.Sprintf("%s (%s) sees %s, and not the pod's own %s", who, at, from, own)
		r.Next = "something masquerades what stays in the cluster: `nft list ruleset | grep masquerade`, `iptables -t " +
			"nat -S POSTROUTING`; is nonMasqueradeCIDR wide enough?"
	case s.want.Masquerades && !pod && !kept && len(s.keepOf(at)) > 0 && from == own:
		r.State = verify.Failed
		r.Seen = fmt.Sprintf("%s (%s) sees the pod's own %s, to which nobody there can answer", who, at, own)
		r.Next = "nothing masquerades: `agent --once` writes the rule; `nft list table ip netwright` shows it"
	}
	return r
}

// keepOf is what is kept of an address's family: without any, none is masqueraded.
func (s *scene) keepOf(as netip.Addr) (out []netip.Prefix) {
	for _, p := range s.want.Keep {
		if p.Addr().Is4() == as.Is4() && p.Bits() > 0 {
			out = append(out, p)
		}
	}
	return out
}

// given has a pod reach a service that the caller names. Whatever answers the connection will do.
func (s *scene) given(ctx context.Context, to netip.AddrPort) verify.Result {
	r := verify.Result{Check: "service " + to.String(), State: verify.OK, Seen: "a pod reaches it"}
	if !s.a.Address(to.Addr()).IsValid() {
		return verify.Result{Check: r.Check, State: verify.NotHere, Seen: "pods have no address of its family"}
	}
	if err := probe.Connect(ctx, s.a.NetNS, to); err != nil {
		r.State, r.Seen = verify.Failed, err.Error()
		r.Next = "does kube-proxy run here, and has the service an endpoint? `kubectl get endpointslices -A`"
		if errors.Is(err, probe.ErrNoAnswer) {
			r.Next += "; " + s.unbridged()
		}
	}
	return r
}

// resolved has a pod ask the cluster's DNS.
func (s *scene) resolved(ctx context.Context) verify.Result {
	r := verify.Result{Check: "pod to cluster DNS", State: verify.OK}
	for _, server := range s.want.Resolvers {
		if !s.a.Address(server).IsValid() {
			continue
		}
		seen, err := probe.Resolve(ctx, s.a.NetNS, server, verify.ClusterName)
		if err != nil {
			r.State, r.Seen = verify.Failed, err.Error()
			r.Next = verify.Unresolved(err) + "; does kube-proxy run here? if the node itself is answered, pods' way to " +
				"services is broken: " + s.unbridged()
			return r
		}
		r.Seen = fmt.Sprintf("%s answers: %s", server, seen)
	}
	return r
}
