package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

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
	for _, r := range routes {
		if p := hopProbe(r); r.Gateway.IsValid() && slices.Contains(families, r.Gateway.BitLen()) &&
			!slices.Contains(before, p) && !slices.Contains(hops, p) {
			hops = append(hops, p)
		}
	}
	return hops, nil
}

// newServers returns failures if a name server answered before the change, the node no longer uses
// any that answered, and none of the present ones answers. If one of them answers, the others do
// not matter, because the resolver asks the next one (resolv.conf(5)). A name server that needs
// kubelet does not count before kubelet runs.
func (c *Comparison) newServers(ctx context.Context) Failures {
	answered := func(p Probe) bool { return strings.HasPrefix(string(p), dnsProbe+":") }
	if !slices.ContainsFunc(c.Probes, answered) {
		return nil
	}
	servers := c.servers()
	switch {
	case len(servers) == 0:
		return Failures{{dnsProbe, errors.New("no name server is configured any more")}}
	case len(without(servers, c.Probes)) < len(servers):
		return nil // a server that was probed is still used
	}
	failed := c.Node.Attempt(ctx, servers)
	if len(failed) < len(servers) ||
		slices.ContainsFunc(servers, func(p Probe) bool { return c.Node.withKubelet(ctx, p) }) {
		return nil
	}
	return failed
}

// servers returns the probes of the name servers that the node uses now.
func (c *Comparison) servers() (list []Probe) {
	for _, server := range resolvers(c.Node.Host.Live.Files.ReadFile) {
		list = append(list, Probe(dnsProbe+":"+server))
	}
	return list
}

// withKubelet reports whether a name server is one of the cluster, or has a link-local address as a
// cache on each node has, and kubelet, which starts it, does not run yet.
func (n Prober) withKubelet(ctx context.Context, p Probe) bool {
	kubelet, server := n.Host.Live.Facts.Kubelet, p.target()
	if kubelet.Unit == "" || !server.IsLinkLocalUnicast() && !slices.Contains(kubelet.ClusterDNS, server) {
		return false
	}
	u, err := n.Host.Live.Units.Unit(ctx, kubelet.Unit)
	return err != nil || u.Active != "active"
}

// Warnings returns the name servers that do not answer after the change and did not fail before it.
// They are no failures, because another one answers or kubelet does not run yet. It also warns if
// no peer could be asked.
func (c *Comparison) Warnings(ctx context.Context) (warnings []string) {
	if c.Stated {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
	defer cancel()
	for _, f := range c.Node.Attempt(ctx, without(without(c.servers(), c.Probes), c.silent)) {
		text := fmt.Sprintf("name server %s does not answer (%v): each DNS lookup waits for its timeout; "+
			"repair or remove it",
			f.Probe.target(), f.Err)
		if c.Node.withKubelet(ctx, f.Probe) {
			text = fmt.Sprintf("name server %s does not answer yet: it starts after kubelet", f.Probe.target())
		}
		warnings = append(warnings, text)
	}
	if c.unasked != nil {
		warnings = append(warnings, fmt.Sprintf("no peer was asked to knock: %v", c.unasked))
	}
	return warnings
}

// Watchable returns the probes that show later that the node has lost its network, out of those
// that passed before the change and the new next hops: the gateways, or else the user's own probes,
// and the store. It leaves out a store that is a directory of the node, and probes that do not
// reach another host.
func Watchable(ctx context.Context, h *host.Host, before []Probe) (gateways []Probe, store Probe, err error) {
	hops, err := newHops(ctx, h, before)
	if err != nil {
		return nil, "", err
	}
	var others []Probe
	for _, p := range slices.Concat(before, hops) {
		switch kind, what, _ := strings.Cut(string(p), ":"); {
		case kind == Store && strings.Contains(what, "://"):
			store = p
		case slices.Contains([]string{Store, managedProbe, podsProbe}, kind):
		case kind == neighbourProbe, kind == pingProbe:
			gateways = append(gateways, p)
		default:
			others = append(others, p)
		}
	}
	if len(gateways) == 0 {
		gateways = others
	}
	return gateways, store, nil
}
