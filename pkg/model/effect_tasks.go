package model

import (
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// effects adds a node for each effect that some task asks for. Without a node in the graph an
// effect would not run, and nobody would notice.
func (b *builder) effects() {
	var asked []graph.Key
	for _, t := range b.tasks {
		for _, k := range tasks.EffectsOf(t) {
			if !slices.Contains(asked, k) {
				asked = append(asked, k)
			}
		}
	}
	for _, k := range asked {
		effect := tasks.EffectOf(k)
		effect.Meta = nodeDefault(effect.Unit + " reads its settings again")
		if k == tasks.DaemonReload {
			effect.Meta = nodeDefault("systemd reads its units again")
		}
		b.add(effect)
	}
}
