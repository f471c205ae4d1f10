package tasks

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// ActsLate says that what a unit does with a change, it does when everybody else has long gone on:
// one that sets the node's own network up, and one of a hook, of which nobody knows what it does.
// Not what runs pods, what mounts, and udev, which only acts on what comes. "" is no unit.
func ActsLate(unit string) bool {
	return unit != "" && !runtimeUnits[unit] && unit != "systemd-udevd.service" && !strings.HasSuffix(unit, ".mount")
}

// RevertCosts is what it means for the node's own packets that a key goes, or has again what
// it had before the agent came, and that effects are asked for: whatever was there meanwhile, the
// node may be reached by it. A link that goes has no address any more, and what is forwarded is not
// the node's.
func RevertCosts(key graph.Key, to string, asks []graph.Key) Disruption {
	if slices.ContainsFunc(asks, func(k graph.Key) bool { return networkUnits[EffectOf(k).Unit] }) {
		return MayCutOff
	}
	return rowOf(key).costs.back(key.Name(), to)
}
