package tasks

import (
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// Netdev is the link that systemd-networkd makes by the file, "" if it is none of its .netdev
// files. That one stays when the file goes (systemd.netdev(5)). An error may be otherwise the next
// time.
func (t File) Netdev() (string, error) {
	if path.Ext(t.Path) != ".netdev" || !NetworkFile(t.Path) {
		return "", nil
	}
	content, err := t.bytes()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "Name" {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}

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
