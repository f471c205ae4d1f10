package cleanup

import (
	"context"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/plural"
)

// KindIPVS is the kind of the key of a virtual service: ipvs:TCP 10.96.0.1:443.
const KindIPVS = "ipvs"

func (m IPVSSelector) matches(svc residue.IPVSService, here []rtnl.Address, s Scope) bool {
	if slices.ContainsFunc(here, func(a rtnl.Address) bool { return a.Link == m.Unless }) {
		return false
	}
	if m.Link != "" && (svc.Mark != 0 ||
		!slices.ContainsFunc(here,
			func(a rtnl.Address) bool { return a.Link == m.Link && a.Prefix.Addr() == svc.Addr.Addr() })) {
		return false
	}
	return !m.Pods || len(svc.Servers) > 0 &&
		!slices.ContainsFunc(svc.Servers, func(to netip.Addr) bool { return !s.isPods(to) })
}

func findIPVS(ctx context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	if len(l.IPVS) == 0 {
		return nil, nil
	}
	services, err := v.Residue.IPVS(ctx)
	if err != nil || len(services) == 0 {
		return nil, err
	}
	here, err := v.Net.Addresses(ctx, "")
	if err != nil {
		return nil, err
	}
	var out []item
	for _, svc := range services {
		if slices.ContainsFunc(l.IPVS, func(m IPVSSelector) bool { return m.matches(svc, here, s) }) {
			out = append(out, item{Key: graph.MakeKey(KindIPVS, svc.String()),
				Detail: "service with " + plural.Of(len(svc.Servers), "server"),
				remove: func(ctx context.Context, h *host.Host) error { return h.ResidueWriter().DelIPVS(ctx, svc) }})
		}
	}
	return out, nil
}
