package tasks

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// ActsLate says that a unit may act on a change long after it was made: one that sets the node's
// own network up, or a hook, of which nobody knows what it does. Units that run pods or mount do
// not, nor does udev, which acts only on devices that come. "" is no unit.
func ActsLate(unit string) bool {
	return unit != "" && !runtimeUnits[unit] && unit != "systemd-udevd.service" && !strings.HasSuffix(unit, ".mount")
}

// RevertCosts is what the node's own packets lose when a key is removed or gets its baseline back,
// and effects are asked for: the node may be reached by the value that goes. A link that is removed
// has no address any more, and forwarded packets are not the node's.
func RevertCosts(key graph.Key, to string, asks []graph.Key) Disruption {
	if slices.ContainsFunc(asks, func(k graph.Key) bool { return networkUnits[EffectOf(k).Unit] }) {
		return MayCutOff
	}
	return rowOf(key).costs.back(key.Name(), to)
}
