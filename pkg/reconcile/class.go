package reconcile

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// raise lifts a plan's class for what no single step shows: a pods' range that the node leaves.
// Kubernetes gives a Node its range once, and pods keep the addresses that they have.
// https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/node-v1/#NodeSpec
// (podCIDRs)
func (r *run) raise(p *report.Plan) {
	had := r.led.Head().Network
	if p.Class == "" || r.desired.Held != nil || had.Name != r.desired.Network() {
		return
	}
	for _, text := range strings.Split(had.PodCIDRs, ",") {
		old, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || slices.ContainsFunc(r.desired.Node.PodCIDR, func(now netip.Prefix) bool { return now.Bits() <= old.Bits() && now.Contains(old.Addr()) }) {
			continue
		}
		p.Raise(tasks.ClassReplace.String(), fmt.Sprintf("spec.podCIDR was %s and leaves it: a Node keeps the range that it was given, and pods their addresses", old))
	}
}
