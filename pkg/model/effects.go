package model

import (
	"slices"
	"strings"

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
		if k == tasks.DaemonReload {
			b.add(tasks.Effect{Meta: nodeDefault("systemd reads its units again"), Action: tasks.ActionDaemonReload})
			continue
		}
		action, unit, _ := strings.Cut(k.Name(), " ")
		b.add(tasks.Effect{Meta: nodeDefault(unit + " reads its settings again"), Action: tasks.EffectAction(action),
			Unit: unit})
	}
}
