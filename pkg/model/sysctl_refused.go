package model

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/tasks"
)

// fewestSourcePorts is the number of source ports that the node itself needs for connections to
// the store (to fetch a correction), the API server and DNS.
const fewestSourcePorts = 1024

// withoutHarm refuses values that would cut the node off in a way that no probe notices in time.
// It drops our own default if that default would do so.
func (b *builder) withoutHarm(keys []sysctl) ([]sysctl, error) {
	for _, k := range keys {
		// With 8 the kernel answers no ARP request. The node is cut off later, when its neighbours
		// have forgotten its address: https://docs.kernel.org/networking/ip-sysctl.html
		if strings.HasPrefix(k.Key, "net.ipv4.conf.") && strings.HasSuffix(k.Key, ".arp_ignore") &&
			kernel.SameSysctl(k.Key, k.Value, "8") {
			return nil, problem.SysctlHarm.Errorf("set %s to %q (%s): with this value the node does not answer ARP "+
				"for its addresses: choose 0, 1 or 2", k.Key, k.Value, k.origin)
		}
	}
	within, reserved := find(keys, kernel.SourcePortRange), find(keys, kernel.ReservedPorts)
	left, ok := kernel.SourcePorts(value(keys, within), value(keys, reserved))
	switch {
	case !ok || left >= fewestSourcePorts || within < 0 && reserved < 0:
		return keys, nil
	case reserved >= 0 && keys[reserved].origin == document.NodeDefault:
		b.note(network.Warning, b.view.Origin("spec.serviceNodePortRange"),
			"ports %s may become source ports on this node: if they were reserved for node ports, only %d source "+
				"ports would be left",
			keys[reserved].Value, left)
		return slices.Delete(keys, reserved, reserved+1), nil
	case reserved < 0:
		reserved = within
	}
	return nil, problem.SysctlHarm.Errorf("set %s to %q (%s): it leaves %d source ports, and without them the node "+
		"can connect to nothing: leave at least %d of %s",
		keys[reserved].Key, keys[reserved].Value, keys[reserved].origin, left, fewestSourcePorts,
		kernel.SourcePortRange)
}

// find returns the index of a key, or -1 if nothing sets it.
func find(keys []sysctl, key string) int {
	return slices.IndexFunc(keys, func(k sysctl) bool { return tasks.SysctlKey(k.Key) == tasks.SysctlKey(key) })
}

// value returns the value at an index that find returned, or "" for -1.
func value(keys []sysctl, i int) string {
	if i < 0 {
		return ""
	}
	return keys[i].Value
}
