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

// Routes other than default routes have next hops too: for example, packets to another node's pods
// go to that node. A change that gives them another next hop, or that adds a longer prefix,
// redirects these packets. So if the former next hop answered before the change, the new one must
// resolve. A failure proves nothing about the generation, because the new next hop may be down
// itself or get its address later.

// mostHops is the maximum number of next hops that are probed before a change, without those of
// default routes.
const mostHops = 64

// ledBefore has the routes of the main table before the change, and the probes of their next hops
// that passed.
type ledBefore struct {
	routes   []rtnl.Route
	answered []Probe
	pods     []netip.Prefix // a new route to these only takes packets from a default route
}

// hops returns the next hops to probe before a change: on the node's own links, first those of
// routes that the change names.
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

// hopsNow returns the next hops that must resolve after the change: see redirected.
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

// redirected returns the next hops that get packets which went to another next hop before, if that
// one answered. It leaves out routes of the kernel, of leases and of routing daemons, because
// others are responsible for them.
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

// isNew reports whether a route leads to pods to which only a default route led before, so that
// nobody was reached. A route of the agent leads to pods, even if no document states their ranges.
func (b ledBefore) isNew(was []rtnl.Route, r rtnl.Route) bool {
	return was[0].Dst.Bits() == 0 &&
		(r.Protocol == rtnl.RouteProtocol || rtnl.Within(b.pods, r.Dst))
}

// ofAChange reports whether a route may be of the change: the protocol is that of the agent's
// routes, or one that ip(8), networkd and hooks use.
func ofAChange(protocol int) bool {
	return slices.Contains([]int{rtnl.RouteProtocol, unix.RTPROT_UNSPEC, unix.RTPROT_BOOT, unix.RTPROT_STATIC},
		protocol)
}

// leads returns the routes to a destination: those with the longest prefix that contains it and
// with the lowest metric.
func leads(routes []rtnl.Route, dst netip.Prefix) (best []rtnl.Route) {
	for _, r := range routes {
		if r.Dst.Addr().BitLen() != dst.Addr().BitLen() || r.Dst.Bits() > dst.Bits() || !r.Dst.Contains(dst.Addr()) {
			continue
		}
		order := -1 // less than 0: r is better than the best so far
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

// newHops returns the next hops of default routes that the node did not have before, in the
// families in which a neighbour answered before. Each must resolve, because the kernel sends all or
// a part of the outgoing packets there. On a link without address resolution the probe passes
// (NUD_NOARP).
func newHops(ctx context.Context, h *host.Host, before []Probe) (hops []Probe, err error) {
	var families []int // address sizes in bits
	for _, p := range before {
		if hop, ok := p.hop(); ok {
			families = append(families, hop.BitLen())
		}
	}
	if len(families) == 0 {
		return nil, nil
	}
	routes, err := h.Live.Net.DefaultRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the next hops after the change: %w", err)
	}
	for _, p := range hopProbes(routes) {
		if slices.Contains(families, p.target().BitLen()) && !slices.Contains(before, p) && !slices.Contains(hops, p) {
			hops = append(hops, p)
		}
	}
	return hops, nil
}
