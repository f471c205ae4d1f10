package cleanup

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindIPSet is the kind of an ipset's key: ipset:cali40s:abc.
const KindIPSet = "ipset"

func findIPSets(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	if len(l.IPSets) == 0 {
		return nil, nil
	}
	sets, err := v.Firewall.IPSets(ctx)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, name := range sets {
		if matches(name, l.IPSets...) {
			out = append(out, item{Key: graph.MakeKey(KindIPSet, name), Detail: "ipset",
				remove: func(ctx context.Context, h *host.Host) error { return h.Firewall.DelIPSet(ctx, name) }})
		}
	}
	return out, nil
}
