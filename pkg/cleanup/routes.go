package cleanup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

func (m RouteSelector) matches(r rtnl.Route, s Scope) bool {
	table := cmp.Or(m.Table, rtnl.MainTable)
	switch {
	case !asked(m.Protocol, r.Protocol), !askedLike(m.Link, r.Link), !asked(m.Type, r.Type),
		m.Pods && !rtnl.Within(s.PodCIDRs, r.Dst), m.Via && !r.Gateway.IsValid(), m.Bare():
		return false
	case m.Last != 0:
		return r.Table >= table && r.Table <= m.Last
	}
	return table == rtnl.AllTables || table == r.Table
}

func findRoutes(ctx context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	if len(l.Routes) == 0 {
		return nil, nil
	}
	routes, err := v.Net.Routes(ctx, rtnl.AllTables)
	if err != nil {
		return nil, err
	}
	_, others, err := l.ownRules(ctx, v, s)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, r := range routes {
		free := r.Table == rtnl.MainTable || !others[r.Table]
		if r.OfMachine() || !slices.ContainsFunc(l.Routes,
			func(m RouteSelector) bool { return (free || !m.weak()) && m.matches(r, s) }) {
			continue
		}
		out = append(out, foundRoute(r))
	}
	return out, nil
}

func foundRoute(r rtnl.Route) item {
	return item{Key: tasks.RouteKey(r), Detail: describeRoute(r),
		remove: func(ctx context.Context, h *host.Host) error { return h.Net.DelUnmanagedRoute(ctx, r) }}
}

func describeRoute(r rtnl.Route) string {
	words := []string{r.Dst.String()}
	if r.Type != "unicast" {
		words = []string{r.Type, r.Dst.String()}
	}
	if r.Gateway.IsValid() {
		words = append(words, "via", r.Gateway.String())
	}
	if r.Link != "" {
		words = append(words, "dev", r.Link)
	}
	return strings.Join(append(words, "proto", fmt.Sprint(r.Protocol), "table", fmt.Sprint(r.Table)), " ")
}
