package tasks

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// linkHarmless is the proof of a link: a new link takes no packets.
func linkHarmless(ctx context.Context, t Link, c *Change, on Ground) bool {
	_, err := on.View.Net.Link(ctx, t.Name)
	return errors.Is(err, host.ErrNotExist) && len(c.Items) == 1 && c.Items[0].Op == Create
}

// addressHarmless is the proof of an address: its link does not exist yet, and its subnet is inside
// the pod ranges and was covered only by a default route.
func addressHarmless(ctx context.Context, t Address, c *Change, on Ground) bool {
	_, err := on.View.Net.Link(ctx, t.Link)
	return errors.Is(err, host.ErrNotExist) && c.Items[0].Op == Create && onlyDefault(ctx, t.Prefix.Masked(), on)
}

// routeHarmless is the proof of a route: a new one in the main table, to pods' addresses that only
// a default route covered. So no route lookup that succeeded before changes, except lookups of pods
// that were not reachable. A longer prefix, or another next hop of an existing route, is not
// harmless.
func routeHarmless(ctx context.Context, t Route, c *Change, on Ground) bool {
	want := t.Canonical()
	return len(c.Items) == 1 && c.Items[0].Op == Create && want.Table == rtnl.MainTable && want.Type == "unicast" &&
		want.Dst.Bits() > 0 &&
		!want.Dst.Contains(want.Gateway) && onlyDefault(ctx, want.Dst, on)
}

// onlyDefault reports whether a prefix is inside the pod ranges and only default routes of the host
// cover it: no other route, no subnet of a link and no next hop overlaps it. It returns false where
// the routes cannot be read. Tables besides main count too, because a policy rule may look into one
// of them after main (ip-rule(8), suppress_prefixlength).
func onlyDefault(ctx context.Context, p netip.Prefix, on Ground) bool {
	if !rtnl.Within(on.Pods, p) {
		return false
	}
	routes, err := on.View.Net.Routes(ctx, rtnl.AllTables)
	if err != nil || overlaps(ctx, on.View, "", p) {
		return false
	}
	return !slices.ContainsFunc(routes, func(r rtnl.Route) bool {
		return r.Dst.Bits() > 0 && r.Dst.Overlaps(p) || r.Gateway.IsValid() && p.Contains(r.Gateway)
	})
}

// tableHarmless is the proof of the agent's nft table: its old and new rules only change the source
// address of packets that pods send, as they leave the node. A packet of the node itself matches
// none.
func tableHarmless(ctx context.Context, t Table, _ *Change, on Ground) bool {
	have, err := on.View.Firewall.Table(ctx, t.Family, t.Name)
	if IgnoreMissing(err) != nil {
		return false
	}
	return masquerades(t.Table, on.Pods) && (err != nil || masquerades(have, on.Pods))
}

func masquerades(t firewall.Table, pods []netip.Prefix) bool {
	return !slices.ContainsFunc(t.Chains, func(c firewall.Chain) bool {
		return c.Type != "nat" || c.Hook != "postrouting" || c.Policy == "drop" ||
			slices.ContainsFunc(c.Rules, func(r firewall.NFRule) bool {
				return r.Unknown != "" || r.Verdict != "return" && !strings.HasPrefix(r.Verdict, "masquerade") ||
					len(r.SrcIn) == 0 || !allInside(r.SrcIn, pods)
			})
	})
}

func allInside(list, of []netip.Prefix) bool {
	return !slices.ContainsFunc(list, func(p netip.Prefix) bool { return !rtnl.Within(of, p) })
}
