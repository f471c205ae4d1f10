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

// linkHarmless is the proof of a link: one that was not there leads nobody anywhere.
func linkHarmless(ctx context.Context, t Link, c *Change, on Ground) bool {
	_, err := on.View.Net.Link(ctx, t.Name)
	return errors.Is(err, host.ErrNotExist) && len(c.Items) == 1 && c.Items[0].Op == Create
}

// addressHarmless is the proof of an address: on a link that is not there yet, with a network
// inside the stated ranges that only a default route covered.
func addressHarmless(ctx context.Context, t Address, c *Change, on Ground) bool {
	_, err := on.View.Net.Link(ctx, t.Link)
	return errors.Is(err, host.ErrNotExist) && c.Items[0].Op == Create && onlyDefault(ctx, t.Prefix.Masked(), on)
}

// routeHarmless is the proof of a route: a new one of the main table, to pods' addresses that only
// a default route covered. So no lookup ends elsewhere that succeeded before, but those of pods
// that were not reached. A longer prefix, or another next hop of a known one, is no such route.
func routeHarmless(ctx context.Context, t Route, c *Change, on Ground) bool {
	want := t.Canonical()
	return len(c.Items) == 1 && c.Items[0].Op == Create && want.Table == rtnl.MainTable && want.Type == "unicast" &&
		want.Dst.Bits() > 0 &&
		!want.Dst.Contains(want.Gateway) && onlyDefault(ctx, want.Dst, on)
}

// onlyDefault says that a range is inside the stated ranges of pods, and that only default routes
// of the host lead there: no other route, no network of a link and no next hop overlaps with it.
// Where that cannot be read it is false. Tables besides the main one count: a policy rule may ask
// one of them after it (ip-rule(8), suppress_prefixlength).
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

// tableHarmless is the proof of our table: what it has and had rewrites the sender of packets that
// pods send, as they leave. A packet of the node is none of those.
func tableHarmless(ctx context.Context, t Table, _ *Change, on Ground) bool {
	have, err := on.View.Firewall.Table(ctx, t.Family, t.Name)
	if err != nil && !errors.Is(err, host.ErrNotExist) {
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
