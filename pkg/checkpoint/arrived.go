package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// attempt tries what answered before the change, and what the change brought: next hops and name
// servers that the node did not have before were not there to be asked then. Where the probes are
// the user's own, only these are asked: nobody knows then what else has to answer.
func (j *Journal) attempt(ctx context.Context, h *host.Host, m Means) failures {
	if j.Stated {
		return attempt(ctx, h, m, j.Probes)
	}
	hops, err := j.newHops(ctx, h)
	turned, unread := j.before.hopsNow(ctx, h)
	failed := attempt(ctx, h, m, slices.Concat(j.Probes, hops, turned))
	if err = errors.Join(err, unread); err != nil {
		failed = append(failed, failure{neighbourProbe, err})
	}
	return append(failed, j.newServers(ctx, h, m)...)
}

// newHops are the next hops of default routes that the node did not have before, of the families of
// which a neighbour answered then. Each must resolve: the kernel sends the world's packets there,
// or its share of them. On links that resolve nobody the probe passes (NUD_NOARP).
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
	routes, err := h.Live.Net.DefaultRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the next hops after the change: %w", err)
	}
	for _, r := range routes {
		if p := hopProbe(r); r.Gateway.IsValid() && slices.Contains(families, r.Gateway.BitLen()) &&
			!slices.Contains(j.Probes, p) && !slices.Contains(hops, p) {
			hops = append(hops, p)
		}
	}
	return hops, nil
}

// newServers are failures if name servers answered before, none of these is named any more, and
// none of those that are named now answers. One that is dead beside one that answers is no failure:
// the resolver asks the next (resolv.conf(5)). Nor is one that comes up with kubelet, before it.
func (j *Journal) newServers(ctx context.Context, h *host.Host, m Means) failures {
	answered := func(p Probe) bool { return strings.HasPrefix(string(p), dnsProbe+":") }
	if !slices.ContainsFunc(j.Probes, answered) {
		return nil
	}
	var servers []Probe
	for _, server := range resolvers(h.Live.Files) {
		p := Probe(dnsProbe + ":" + server)
		if slices.Contains(j.Probes, p) {
			return nil // it has been asked
		}
		servers = append(servers, p)
	}
	if len(servers) == 0 {
		return failures{{dnsProbe, errors.New("no name server is named any more")}}
	}
	failed := attempt(ctx, h, m, servers)
	if len(failed) < len(servers) || slices.ContainsFunc(servers, func(p Probe) bool { return p.withKubelet(ctx, h) }) {
		return nil
	}
	return failed
}

// withKubelet says that a name server is of the cluster, or of the link alone as its cache on each
// node is, and that kubelet, which starts what answers there, does not run yet.
func (p Probe) withKubelet(ctx context.Context, h *host.Host) bool {
	kubelet, server := h.Live.Facts.Kubelet, p.target()
	if kubelet.Unit == "" || !server.IsLinkLocalUnicast() && !slices.Contains(kubelet.ClusterDNS, server) {
		return false
	}
	u, err := h.Live.Units.Unit(ctx, kubelet.Unit)
	return err != nil || u.Active != "active"
}

// warn says which name servers do not answer after the change that did not fail before it: since
// another one answers, or kubelet does not run yet, that is no failure.
func (j *Journal) warn(ctx context.Context, h *host.Host, m Means) (warnings []string) {
	if j.Stated {
		return nil
	}
	var servers []Probe
	for _, server := range resolvers(h.Live.Files) {
		if p := Probe(dnsProbe + ":" + server); !slices.Contains(j.Probes, p) && !slices.Contains(j.silent, p) {
			servers = append(servers, p)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, errNoAnswer)
	defer cancel()
	for _, f := range attempt(ctx, h, m, servers) {
		text := fmt.Sprintf("name server %s does not answer (%v): look-ups wait for it; mend or remove it",
			f.probe.target(), f.err)
		if f.probe.withKubelet(ctx, h) {
			text = fmt.Sprintf("name server %s is awaited, which comes up with kubelet", f.probe.target())
		}
		warnings = append(warnings, text)
	}
	if j.unasked != nil {
		warnings = append(warnings, fmt.Sprintf("no peer was asked to knock: %v", j.unasked))
	}
	return warnings
}

// hopProbe asks the next hop of a route.
func hopProbe(r rtnl.Route) Probe {
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
