package tasks

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// sharedSysctls are keys of links that packets of pods, services and other programs need, whoever
// set them. https://docs.kernel.org/networking/ip-sysctl.html
var sharedSysctls = []string{"forwarding", "mc_forwarding", "force_forwarding", "rp_filter"}

// Shared reports whether other programs may rely on a sysctl once it is set: forwarding, the
// reverse path filter, the firewall for bridged packets. A rollback leaves it.
func Shared(key graph.Key) bool {
	if key.Kind() != KindSysctl {
		return false
	}
	name := key.Name()
	parts := strings.Split(name, ".")
	ofLink := len(parts) > 3 && parts[0] == "net" && parts[2] == "conf"
	return name == ipForward || strings.HasPrefix(name, "net.bridge.") ||
		ofLink && slices.Contains(sharedSysctls, parts[len(parts)-1])
}
