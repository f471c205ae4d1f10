package cleanup

import (
	"context"
	"slices"

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
