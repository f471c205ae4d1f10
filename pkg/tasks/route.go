package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// KindRoute is the kind of a route: route:254/10.2.0.0/24.
const KindRoute = "route"

// Route is a route with the agent's protocol number. Where another task sets the next hop or the
// source address, [Meta.Requires] names that task's key.
type Route struct {
	Meta
	rtnl.Route
}

var (
	_ Task     = Route{}
	_ needer   = Route{}
	_ Remover  = Route{}
	_ Restorer = Route{}
	_ Claimer  = Route{}
)

// RouteKey is the key of a route: its table, destination and metric, for which the kernel has one
// route.
func RouteKey(r rtnl.Route) graph.Key {
	c := r.Canonical()
	name := fmt.Sprintf("%d/%s", c.Table, c.Dst)
	if r.Metric != 0 {
		name += fmt.Sprintf(" metric %d", r.Metric)
	}
	return graph.MakeKey(KindRoute, name)
}

// Owns implements [Task].
func (t Route) Owns() []graph.Key { return []graph.Key{RouteKey(t.Route)} }

// needs implements [needer]: the link comes first.
func (t Route) needs() []graph.Key {
	if t.Link == "" {
		return t.Requires
	}
	return append([]graph.Key{LinkKey(t.Link)}, t.Requires...)
}

// Plan implements [Task]. A route of another program is right where it leads the same way. Where it
// leads another way it is an error, because the kernel has only one.
func (t Route) Plan(ctx context.Context, v host.View) (*Change, error) {
	want := t.Canonical()
	routes, err := v.Net.Routes(ctx, want.Table)
	if errors.Is(err, host.ErrNoLiveState) {
		return notApplicable(t.Owns()[0], Create), nil
	}
	if err != nil {
		return nil, MarkTransient(err)
	}
	if t.Link != "" {
		switch _, err := v.Net.Link(ctx, t.Link); {
		case IgnoreMissing(err) != nil:
			return nil, MarkTransient(err)
		case err != nil && !willExist(v, LinkKey(t.Link)):
			return nil, graph.Wait("link " + t.Link)
		}
	}
	item := Item{Key: t.Owns()[0], Op: Create}
	reason := "absent"
	var have rtnl.Route
	for _, r := range routes {
		if !r.SameKey(want) {
			continue
		}
		if sameWay(r, want) {
			return nil, nil
		}
		if r.Protocol != rtnl.RouteProtocol {
			return nil, fmt.Errorf("plan route %s in table %d: %w: it leads %s and has protocol %d: remove it, or "+
				"give ours another metric",
				want.Dst, want.Table, rtnl.ErrUnmanagedRoute, way(r), r.Protocol)
		}
		item.Op, reason, have = Update, "leads another way", r
	}
	if err := t.reachable(ctx, v, want, routes); err != nil {
		return nil, err
	}
	item.Fields = wayFields(have, want)
	change := &Change{Items: []Item{item}, Reason: reason}
	if want.Table == rtnl.MainTable && (want.Dst.Bits() == 0 || t.takesOver(ctx, v, routes)) {
		change.Disruption = MayCutOff
	}
	return change, nil
}

// reachable returns an error where the kernel would refuse the next hop. The next hop must be in a
// subnet to which a route of the link leads directly, without another next hop (fib_check_nh and
// ip6_route_check_nh). Pending changes of earlier tasks count. routes are those of the route's own
// table; the main table counts too.
func (t Route) reachable(ctx context.Context, v host.View, want rtnl.Route, routes []rtnl.Route) error {
	if !want.Gateway.IsValid() || want.OnLink || want.Gateway.IsLinkLocalUnicast() {
		return nil
	}
	leads := func(r rtnl.Route) bool {
		return !r.Gateway.IsValid() && r.Type == "unicast" && (t.Link == "" || r.Link == t.Link || r.Link == "") &&
			r.Dst.Contains(want.Gateway)
	}
	if slices.ContainsFunc(routes, leads) {
		return nil
	}
	if want.Table != rtnl.MainTable {
		switch others, err := v.Net.Routes(ctx, rtnl.MainTable); {
		case err != nil:
			return MarkTransient(err)
		case slices.ContainsFunc(others, leads):
			return nil
		}
	}
	addresses, err := v.Net.Addresses(ctx, t.Link)
	if IgnoreMissing(err) != nil {
		return MarkTransient(err)
	}
	for _, a := range addresses { // the subnet of a pending address, or of an address of a pending link
		if a.Prefix.Contains(want.Gateway) &&
			(willExist(v, AddressKey(a.Link, a.Prefix)) ||
				willExist(v, LinkKey(a.Link))) {
			return nil
		}
	}
	return fmt.Errorf("plan route %s: the next hop %s is in no network of a link of this host: give the address by "+
		"which this node reaches it, or its link and onlink",
		want.Dst, want.Gateway)
}

// takesOver reports whether packets of another route would take this one: it overlaps the subnet of
// a link, a next hop, or a route that is not the agent's.
func (t Route) takesOver(ctx context.Context, v host.View, routes []rtnl.Route) bool {
	for _, r := range routes {
		if r.Protocol != rtnl.RouteProtocol && r.Dst.Bits() > 0 && !r.Dst.Addr().IsLinkLocalUnicast() &&
			!r.Dst.Addr().IsMulticast() &&
			r.Dst.Overlaps(t.Dst) && (t.Link == "" || r.Link != t.Link || r.Gateway != t.Gateway) ||
			r.Gateway.IsValid() && t.Dst.Contains(r.Gateway) {
			return true
		}
	}
	return overlaps(ctx, v, "", t.Dst)
}

// Apply implements [Task].
func (t Route) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return MarkTransient(h.Net.ReplaceRoute(ctx, t.Route))
}

// at returns the present route with the task's key.
func (t Route) at(ctx context.Context, v host.View) (rtnl.Route, bool, error) {
	want := t.Canonical()
	routes, err := v.Net.Routes(ctx, want.Table)
	if err != nil {
		return rtnl.Route{}, false, MarkTransient(err)
	}
	for _, r := range routes {
		if r.SameKey(want) {
			return r, true, nil
		}
	}
	return rtnl.Route{}, false, nil
}

// Live implements [StateReader]. It returns where the route leads, and its protocol.
func (t Route) Live(ctx context.Context, v host.View) (string, error) {
	r, there, err := t.at(ctx, v)
	if err != nil || !there {
		return "", err
	}
	return fmt.Sprintf("%s src %s mtu %d proto %d", way(r), address(r.Source), r.MTU, r.Protocol), nil
}

// Unmanaged implements [Claimer].
func (t Route) Unmanaged(live string) bool {
	return live != "" && !strings.HasSuffix(live, fmt.Sprintf(" proto %d", rtnl.RouteProtocol))
}

// Remove implements [Remover]. The host does not remove routes with another protocol.
func (t Route) Remove(ctx context.Context, h *host.Host) error {
	return MarkTransient(h.Net.DelRoute(ctx, t.Route))
}

// Baseline implements [Restorer].
func (t Route) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	r, _, err := t.at(ctx, v)
	if err != nil {
		return Baseline{}, err
	}
	return baseline(ctx, v, t, r)
}

// Restored implements [Restorer].
func (t Route) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	return alive(ctx, v, t, b)
}

// Restore implements [Restorer].
func (t Route) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was rtnl.Route
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore route %s: %w", t.Dst, err)
	}
	return MarkTransient(h.Net.ReplaceRoute(ctx, was))
}

// sameWay reports whether two routes lead the same way. Where the task names no link, the kernel
// chooses it.
func sameWay(have, want rtnl.Route) bool {
	if want.Link == "" && want.Type == "unicast" {
		have.Link = ""
	}
	have.Protocol, have.Scope = want.Protocol, want.Scope
	return have == want
}

func wayFields(have, want rtnl.Route) []Field {
	var out []Field
	add := func(name, before, after string) {
		if before != after {
			out = append(out, Field{name, before, after})
		}
	}
	if have.Type == "" && want.Type == "unicast" {
		have.Type = want.Type // unicast is the default and not shown
	}
	add("type", have.Type, want.Type)
	add("via", address(have.Gateway), address(want.Gateway))
	if want.Link != "" {
		add("dev", have.Link, want.Link)
	}
	add("src", address(have.Source), address(want.Source))
	add("mtu", number(have.MTU), number(want.MTU))
	if have.OnLink != want.OnLink {
		add("onlink", fmt.Sprint(have.OnLink), fmt.Sprint(want.OnLink))
	}
	return out
}

// way returns where a route leads, in the syntax of ip.
func way(r rtnl.Route) string {
	switch {
	case r.Type != "unicast":
		return "nowhere (" + r.Type + ")"
	case r.Gateway.IsValid():
		return fmt.Sprintf("via %s dev %s", r.Gateway, r.Link)
	case r.Link != "":
		return "dev " + r.Link
	}
	return "several ways"
}

func address(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
