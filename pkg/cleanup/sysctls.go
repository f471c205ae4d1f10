package cleanup

import (
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/tasks"
)

func findSysctls(_ context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	var out []item
	for _, m := range l.Sysctls {
		have, err := v.Kernel.Sysctl(m.Key)
		if nowhere(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		back, set, err := facts.BootSysctl(v.Files, m.Key)
		if err != nil {
			return nil, err
		}
		if !set {
			back = m.Default
		}
		if !kernel.SameSysctl(m.Key, have, m.Wrote) || kernel.SameSysctl(m.Key, have, back) {
			continue
		}
		out = append(out,
			item{Key: graph.MakeKey(tasks.KindSysctl, m.Key), Detail: fmt.Sprintf("%s, back to %s", have, back),
				remove: func(ctx context.Context, h *host.Host) error { return h.Kernel.SetSysctl(ctx, m.Key, back) }})
	}
	return out, nil
}
