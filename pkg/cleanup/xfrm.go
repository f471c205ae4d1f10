package cleanup

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// KindXFRM is the kind of the key of an IPsec policy or state: xfrm:policy out 10.0.0.0/24
// 10.0.1.0/24 reqid 11.
const KindXFRM = "xfrm"

func (m XFRMSelector) matches(x residue.XFRM, s Scope) bool {
	switch {
	case x.Mask&m.Mask != m.Mask, x.Mark&m.Mask != m.Mark, !asked(m.ReqID, x.ReqID), !asked(m.IfID, x.IfID):
		return false
	case m.States && !x.Policy: // found by its policy
		return false
	case m.Pods && !(x.Policy && rtnl.Within(s.PodCIDRs, x.Src) && rtnl.Within(s.PodCIDRs, x.Dst)):
		return false
	}
	return m.Priority == 0 || x.Policy && x.Priority == m.Priority
}

func xfrmKey(x residue.XFRM) graph.Key { return graph.MakeKey(KindXFRM, x.String()) }

// findXFRM finds policies and then states. The removal of the first item removes all of them,
// because they must be told apart from those that stay.
func findXFRM(ctx context.Context, v host.View, l Residue, s Scope) ([]item, error) {
	if len(l.XFRM) == 0 {
		return nil, nil
	}
	all, err := v.Residue.XFRM(ctx)
	if err != nil {
		return nil, err
	}
	var gone []residue.XFRM
	for _, m := range l.XFRM {
		for _, x := range all {
			if !m.matches(x, s) {
				continue
			}
			gone = append(gone, x)
			for _, state := range all {
				if m.States && x.LeadsTo(state) {
					gone = append(gone, state)
				}
			}
		}
	}
	gone = slices.DeleteFunc(gone, func(x residue.XFRM) bool { return s.retains(xfrmKey(x)) })
	var out []item
	seen := map[graph.Key]bool{}
	for _, x := range gone {
		key := xfrmKey(x)
		if !seen[key] {
			seen[key] = true
			out = append(out, item{Key: key, Detail: "IPsec"})
		}
	}
	if len(out) > 0 {
		out[0].remove = func(ctx context.Context, h *host.Host) error { return h.ResidueWriter().RemoveXFRM(ctx, gone) }
	}
	return out, nil
}
