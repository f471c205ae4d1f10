package tasks

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// ActsLate reports whether a unit may act on a change long after it was made: a unit that sets up
// the node's own network, or a hook, whose work the agent does not know. Units that run pods or
// mount file systems do not, and udev acts only on new devices. "" is no unit.
func ActsLate(unit string) bool {
	return unit != "" && !runtimeUnits[unit] && unit != "systemd-udevd.service" && !strings.HasSuffix(unit, ".mount")
}

// RevertCosts returns what the node's own packets may lose when a key is removed or gets its
// baseline back, with the effects that it asks for: the node may be reached by the present value. A
// link that is removed has no address any more, and forwarded packets are not the node's own.
func RevertCosts(key graph.Key, to string, asks []graph.Key) Disruption {
	if slices.ContainsFunc(asks, func(k graph.Key) bool { return networkUnits[EffectOf(k).Unit] }) {
		return MayCutOff
	}
	return rowOf(key).costs.back(key.Name(), to)
}
