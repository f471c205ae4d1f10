package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// newHops are the next hops of default routes that the node did not have before, of the families of
// which a neighbour answered then. Each must resolve: the kernel sends the world's packets there,
// or its share of them. On links that resolve nobody the probe passes (NUD_NOARP).
func newHops(ctx context.Context, h *host.Host, before []Probe) (hops []Probe, err error) {
	var families []int // bits of an address
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

// newServers are failures if name servers answered before, none of these is named any more, and
// none of those that are named now answers. One that is dead beside one that answers is no failure:
// the resolver asks the next (resolv.conf(5)). Nor is one that comes up with kubelet, before it.
func (c *Comparison) newServers(ctx context.Context) Failures {
	answered := func(p Probe) bool { return strings.HasPrefix(string(p), dnsProbe+":") }
	if !slices.ContainsFunc(c.Probes, answered) {
		return nil
	}
	servers := c.servers()
	switch {
	case len(servers) == 0:
		return Failures{{dnsProbe, errors.New("no name server is named any more")}}
	case len(without(servers, c.Probes)) < len(servers):
		return nil // one has been asked
	}
	failed := c.Node.Attempt(ctx, servers)
	if len(failed) < len(servers) ||
		slices.ContainsFunc(servers, func(p Probe) bool { return c.Node.withKubelet(ctx, p) }) {
		return nil
	}
	return failed
}

// servers are the probes of the name servers that the node asks now.
func (c *Comparison) servers() (list []Probe) {
	for _, server := range resolvers(c.Node.Host.Live.Files.ReadFile) {
		list = append(list, Probe(dnsProbe+":"+server))
	}
	return list
}

// withKubelet says that a name server is of the cluster, or of the link alone as its cache on each
// node is, and that kubelet, which starts what answers there, does not run yet.
func (n Prober) withKubelet(ctx context.Context, p Probe) bool {
	kubelet, server := n.Host.Live.Facts.Kubelet, p.target()
	if kubelet.Unit == "" || !server.IsLinkLocalUnicast() && !slices.Contains(kubelet.ClusterDNS, server) {
		return false
	}
	u, err := n.Host.Live.Units.Unit(ctx, kubelet.Unit)
	return err != nil || u.Active != "active"
}

// Warnings say which name servers do not answer after the change that did not fail before it: since
// another one answers, or kubelet does not run yet, that is no failure.
func (c *Comparison) Warnings(ctx context.Context) (warnings []string) {
	if c.Stated {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
	defer cancel()
	for _, f := range c.Node.Attempt(ctx, without(without(c.servers(), c.Probes), c.silent)) {
		text := fmt.Sprintf("name server %s does not answer (%v): look-ups wait for it; mend or remove it",
			f.Probe.target(), f.Err)
		if c.Node.withKubelet(ctx, f.Probe) {
			text = fmt.Sprintf("name server %s is awaited, which comes up with kubelet", f.Probe.target())
		}
		warnings = append(warnings, text)
	}
	if c.unasked != nil {
		warnings = append(warnings, fmt.Sprintf("no peer was asked to knock: %v", c.unasked))
	}
	return warnings
}

// Watchable are those of the probes that passed before a change, and of the next hops that it
// brought, whose loss later says that the node lost its network: its gateways, or those that the
// user named, and its store. A directory of the node's own is none, nor what says nothing of who
// answers elsewhere.
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
