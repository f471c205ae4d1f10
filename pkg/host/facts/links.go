package facts

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// links lists the links with their addresses and managers, and finds the uplink.
func (g gatherer) links(ctx context.Context) error {
	o, err := g.net.Overview(ctx)
	if errors.Is(err, sys.ErrNoLiveState) {
		return nil
	}
	if err != nil {
		return err
	}
	of := map[string][]netip.Prefix{}
	for _, a := range o.Addresses {
		of[a.Link] = append(of[a.Link], a.Prefix)
	}
	manager := g.linkManagers()
	for _, l := range o.Links {
		g.facts.Links = append(g.facts.Links, LinkFact{
			Name: l.Name, Kind: l.Kind, MTU: l.MTU, Up: l.Up, Loopback: l.Loopback, PtP: l.PtP,
			Physical: l.Physical, Master: l.Master, Addresses: of[l.Name], Manager: manager(l.Index),
		})
	}
	if len(o.Defaults) > 0 {
		g.facts.Uplink = o.Defaults[0].Link
		g.facts.Address = uplinkAddress(o.Defaults[0], o.Addresses)
	}
	g.facts.RALinks = g.listening(o.Defaults)
	return nil
}

// NodeLinks returns the node's own links: physical devices, links on top of them, and the uplink.
// Links of pods and their bridges are no such links.
func (f *Facts) NodeLinks() (own []LinkFact) {
	for _, l := range f.Links {
		if !l.Loopback && (l.Physical || l.Name == f.Uplink || slices.Contains([]string{"vlan", "bond", "team"}, l.Kind)) {
			own = append(own, l)
		}
	}
	return own
}

// listening returns the links on which the kernel accepts router advertisements (accept_ra 1, or 2:
// even if it forwards) and may receive them: the node's own links, and links of default routes. It
// leaves out other links, because nothing there may set the node's routes.
func (g gatherer) listening(defaults []rtnl.Route) []string {
	var out []string
	own := g.facts.NodeLinks()
	for _, l := range g.facts.Links {
		of := slices.ContainsFunc(own, func(o LinkFact) bool { return o.Name == l.Name }) ||
			slices.ContainsFunc(defaults, func(r rtnl.Route) bool { return r.Link == l.Name })
		if !of || l.Loopback || l.Master != "" {
			continue
		}
		switch value, _ := g.kernel.Sysctl("net.ipv6.conf." + strings.ReplaceAll(l.Name, ".", "/") +
			".accept_ra"); value {
		case "1", "2":
			out = append(out, l.Name)
		}
	}
	return out
}

// uplinkAddress returns the node's address: the source of the route, or else the first global
// address of the link in the route's family, which the kernel would use.
func uplinkAddress(r rtnl.Route, addresses []rtnl.Address) netip.Addr {
	if r.Source.IsValid() {
		return r.Source
	}
	for _, a := range addresses {
		if a.Link == r.Link && a.Scope == "global" && a.Prefix.Addr().Is4() == r.Dst.Addr().Is4() {
			return a.Prefix.Addr()
		}
	}
	return netip.Addr{}
}
