package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// A route that is no default route leads packets to somebody, too: those to another node's pods to
// that node. A change that gives them another next hop, or a longer prefix, turns them elsewhere.
// So where the next hop that they had answered before, the one that they have now must resolve.
// That says nothing of the generation: a node may be away itself, or be about to get its address.

// mostHops is how many next hops are asked before a change, beside those of default routes.
const mostHops = 64

// ledBefore are the routes of the main table by which packets left before the change, and those of
// their next hops that answered.
type ledBefore struct {
	routes   []rtnl.Route
	answered []Probe
	pods     []netip.Prefix // of which a route that is new takes packets from nobody but a default route
}

// hops are the next hops that are worth asking before a change: on links of the node's own, first
// those of routes that the change names.
func (s neighbourhood) hops(named []netip.Prefix) (hops []Probe) {
	own := s.own()
	mine := func(r rtnl.Route) bool {
		return slices.ContainsFunc(own, func(l rtnl.Link) bool { return l.Name == r.Link })
	}
	for _, first := range []bool{true, false} {
		for _, r := range s.routes {
			p := hopProbe(r)
			if r.Dst.Bits() > 0 && r.Gateway.IsValid() && mine(r) && slices.Contains(named, r.Dst) == first &&
				!slices.Contains(hops, p) {
				hops = append(hops, p)
			}
		}
	}
	return hops[:min(len(hops), mostHops)]
}

// hopsNow are the next hops that must resolve after the change: see redirected.
func (b ledBefore) hopsNow(ctx context.Context, h *host.Host) ([]Probe, error) {
	if len(b.answered) == 0 {
		return nil, nil
	}
	routes, err := h.Live.Net.Routes(ctx, rtnl.MainTable)
	if err != nil {
		return nil, fmt.Errorf("find the next hops after the change: %w", err)
	}
	return b.redirected(routes), nil
}

// redirected are the next hops of routes to which packets are led now that another next hop led
// before, and that answered. Routes of the kernel, of leases and of routing daemons are others' to
// judge.
func (b ledBefore) redirected(now []rtnl.Route) (hops []Probe) {
	there := map[rtnl.Route]bool{}
	for _, r := range b.routes {
		there[r] = true
	}
	for _, r := range now {
		p := neighbour(NextHop, r.Link, r.Gateway)
		if there[r] || r.Dst.Bits() == 0 || !r.Gateway.IsValid() || !ofAChange(r.Protocol) ||
			slices.Contains(hops, p) || !slices.Contains(leads(now, r.Dst), r) {
			continue
		}
		was := leads(b.routes, r.Dst)
		answered := func(w rtnl.Route) bool { return w.Gateway.IsValid() && slices.Contains(b.answered, hopProbe(w)) }
		same := func(w rtnl.Route) bool { return w.Gateway == r.Gateway && w.Link == r.Link }
		if slices.ContainsFunc(was, answered) && !slices.ContainsFunc(was, same) && !b.isNew(was, r) {
			hops = append(hops, p)
		}
	}
	return hops
}

// isNew says that a route leads to pods where only a default route led: nobody was reached. What we
// make leads to pods, also where no document states the ranges of all.
func (b ledBefore) isNew(was []rtnl.Route, r rtnl.Route) bool {
	return was[0].Dst.Bits() == 0 &&
		(r.Protocol == rtnl.RouteProtocol || rtnl.Within(b.pods, r.Dst))
}

// ofAChange says that a route is of a protocol that ours have, or what ip(8), networkd and hooks
// make.
func ofAChange(protocol int) bool {
	return slices.Contains([]int{rtnl.RouteProtocol, unix.RTPROT_UNSPEC, unix.RTPROT_BOOT, unix.RTPROT_STATIC},
		protocol)
}

// leads are the routes that lead to a range: those of the longest prefix around it, of the lowest
// metric.
func leads(routes []rtnl.Route, dst netip.Prefix) (best []rtnl.Route) {
	for _, r := range routes {
		if r.Dst.Addr().BitLen() != dst.Addr().BitLen() || r.Dst.Bits() > dst.Bits() || !r.Dst.Contains(dst.Addr()) {
			continue
		}
		order := -1 // before the best so far
		if len(best) > 0 {
			order = cmp.Or(best[0].Dst.Bits()-r.Dst.Bits(), r.Metric-best[0].Metric)
		}
		switch {
		case order < 0:
			best = []rtnl.Route{r}
		case order == 0:
			best = append(best, r)
		}
	}
	return best
}
