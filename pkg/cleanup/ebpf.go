package cleanup

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindProgram is the kind of the key of an attached eBPF program: ebpf:tc eth0 ingress
// cil_from_netdev-eth0.
const KindProgram = "ebpf"

func findPrograms(ctx context.Context, v host.View, l Residue, _ Scope) ([]item, error) {
	if len(l.Programs) == 0 {
		return nil, nil
	}
	programs, err := v.Residue.Programs(ctx)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, p := range programs {
		if slices.ContainsFunc(l.Programs,
			func(m ProgramSelector) bool { return m.Hook == p.Hook && match(m.Name, p.Name) }) {
			out = append(out, item{Key: graph.MakeKey(KindProgram, p.String()), Detail: "eBPF program",
				remove: func(ctx context.Context, h *host.Host) error {
					return h.ResidueWriter().DetachProgram(ctx, p)
				}})
		}
	}
	return out, nil
}
