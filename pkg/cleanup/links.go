package cleanup

import (
	"context"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

func (m LinkSelector) matches(l rtnl.Link, pods bool) bool {
	return match(m.Name, l.Name) && asked(m.Kind, l.Kind) && asked(m.Master, l.Master) && (!m.Pods || pods) &&
		askedLike(m.MAC, l.MAC) && askedLike(m.Alias, l.Alias)
}

func findLinks(ctx context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	if len(l.Links) == 0 {
		return nil, nil
	}
	links, err := v.Net.Links(ctx)
	if err != nil {
		return nil, err
	}
	routes, err := v.Net.Routes(ctx, rtnl.MainTable)
	if err != nil {
		return nil, err
	}
	addresses, err := v.Net.Addresses(ctx, "")
	if err != nil {
		return nil, err
	}
	pods := map[string]bool{}    // links that lead to a pod
	uplinks := map[string]bool{} // links with a default route
	for _, r := range routes {
		pods[r.Link] = pods[r.Link] || rtnl.Within(s.PodCIDRs, r.Dst)
		uplinks[r.Link] = uplinks[r.Link] || r.Dst.Bits() == 0
	}
	for _, a := range addresses {
		pods[a.Link] = pods[a.Link] || s.isPods(a.Prefix.Addr())
	}
	moved, err := findUplinks(ctx, v, l, s)
	if err != nil {
		return nil, err
	}
	for _, f := range moved { // the machine's routes move away before the link is removed
		uplinks[f.Key.Name()] = false
	}
	var ports, others []item
	for _, link := range links {
		if link.Physical || link.Loopback || link.Kind == "" || uplinks[link.Name] {
			continue
		}
		if !slices.ContainsFunc(l.Links, func(m LinkSelector) bool { return m.matches(link, pods[link.Name]) }) {
			continue
		}
		state := "down"
		if link.Up {
			state = "up"
		}
		what := []string{link.Kind, state}
		if link.Master != "" {
			what = append(what, "port of "+link.Master)
		}
		name := link.Name
		if slices.Contains(kernelsOwn, name) {
			others = append(others, emptied(link, addresses, s)...)
			continue
		}
		found := item{Key: tasks.LinkKey(name), Detail: strings.Join(what, ", "),
			remove: func(ctx context.Context, h *host.Host) error { return h.Net.DelLink(ctx, name) }}
		if link.Master != "" {
			ports = append(ports, found)
		} else {
			others = append(others, found)
		}
	}
	return append(ports, others...), nil // ports come before their bridge
}

// kernelsOwn are the links that a kernel module makes in every namespace and that nobody can
// remove (net/ipv4/ip_tunnel.c, ip_tunnel_init_net).
var kernelsOwn = []string{"tunl0", "ip6tnl0", "sit0", "gre0"}

// emptied finds what a network has changed on a link that cannot be removed: addresses of pods,
// and that the link is up.
func emptied(link rtnl.Link, addresses []rtnl.Address, s Scope) (out []item) {
	name := link.Name
	for _, a := range addresses {
		if prefix := a.Prefix; a.Link == name && s.isPods(prefix.Addr()) {
			out = append(out, item{Key: tasks.AddressKey(name, prefix), Detail: "of the pods' range",
				remove: func(ctx context.Context, h *host.Host) error { return h.Net.DelAddress(ctx, name, prefix) }})
		}
	}
	if link.Up {
		out = append(out, item{Key: tasks.LinkKey(name), Detail: "up; it cannot be removed, and is set down",
			remove: func(ctx context.Context, h *host.Host) error { return h.Net.LinkDown(ctx, name) }})
	}
	return out
}
