package cleanup

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

func findTables(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	if len(l.Tables) == 0 && len(l.Portmap) == 0 {
		return nil, nil
	}
	tables, err := v.Firewall.Tables(ctx)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, t := range tables {
		if t.Name != portmapTable && slices.ContainsFunc(l.Tables,
			func(m TableSelector) bool { return m.Family == t.Family && match(m.Name, t.Name) }) {
			out = append(out, item{Key: tasks.TableKey(t.Family, t.Name), Detail: "nft table",
				remove: func(ctx context.Context, h *host.Host) error { return h.Firewall.DelTable(ctx, t.Family, t.Name) }})
		}
	}
	ports, err := l.findPortmap(ctx, v, tables)
	return append(out, ports...), err
}

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
