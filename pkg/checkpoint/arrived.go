package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// attempt tries what answered before the change, and what the change brought: next hops and name servers that the node did not have before were not there
// to be asked then. Where the probes are the user's own, only these are asked: nobody knows then what else has to answer.
func (j *Journal) attempt(ctx context.Context, h *host.Host, m Means) failures {
	hops, err := j.newHops(ctx, h)
	failed := attempt(ctx, h, m, append(slices.Clone(j.Probes), hops...))
	if err != nil {
		failed = append(failed, failure{neighbourProbe, err})
	}
	return append(failed, j.newServers(ctx, h, m)...)
}

// newHops are the next hops of default routes that the node did not have before, of the families of which a neighbour answered then. Each must
// resolve: the kernel sends the world's packets there, or its share of them. On links that resolve nobody the probe passes (NUD_NOARP).
func (j *Journal) newHops(ctx context.Context, h *host.Host) (hops []Probe, err error) {
	var families []int // bits of an address
	for _, p := range j.Probes {
		if hop, ok := p.hop(); ok {
			families = append(families, hop.BitLen())
		}
	}
	if len(families) == 0 {
		return nil, nil
	}
	routes, err := h.DefaultRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the next hops after the change: %w", err)
	}
	for _, r := range routes {
		if p := hopProbe(r); r.Gateway.IsValid() && slices.Contains(families, r.Gateway.BitLen()) && !slices.Contains(j.Probes, p) && !slices.Contains(hops, p) {
			hops = append(hops, p)
		}
	}
	return hops, nil
}

// newServers are failures if name servers answered before, none of these is named any more, and none of those that are named now answers. One that is
// dead beside one that answers is no failure: the resolver asks the next (resolv.conf(5)).
func (j *Journal) newServers(ctx context.Context, h *host.Host, m Means) failures {
	answered := func(p Probe) bool { return strings.HasPrefix(string(p), dnsProbe+":") }
	if !slices.ContainsFunc(j.Probes, answered) {
		return nil
	}
	var servers []Probe
	for _, server := range resolvers(h) {
		p := Probe(dnsProbe + ":" + server)
		if slices.Contains(j.Probes, p) {
			return nil // it has been asked
		}
		servers = append(servers, p)
	}
	if len(servers) == 0 {
		return failures{{dnsProbe, errors.New("no name server is named any more")}}
	}
	if failed := attempt(ctx, h, m, servers); len(failed) == len(servers) {
		return failed
	}
	return nil
}

// hopProbe asks the next hop of a route.
func hopProbe(r host.Route) Probe {
	return neighbour(r.Link, r.Gateway)
}

// hop is the address that a probe of a neighbour asks, of several the first.
func (p Probe) hop() (hop netip.Addr, ok bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(p), anyProbe+":"), " ")
	what, ok := strings.CutPrefix(first, neighbourProbe+":")
	if !ok {
		return hop, false
	}
	_, hop, err := onLink(what)
	return hop, err == nil
}
