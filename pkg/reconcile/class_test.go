package reconcile

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
)

// A pods' range that a node leaves asks for a new node; one that grows does not. The line that
// keeps it: run.go, raise.
func TestAnotherPodRangeIsANewNode(t *testing.T) {
	for _, c := range []struct {
		name, had, ranges, class, want string
	}{
		{"a family goes", "flannel", "10.244.0.0/16", "live", "replace the node"},
		{"another range", "flannel", "10.245.0.0/16,fd00:244::/48", "live", "replace the node"},
		{"a wider range", "flannel", "10.244.0.0/15,fd00::/16", "reload", "reload"},
		{"nothing changes here", "flannel", "10.244.0.0/16", "", ""},
		{"a switch says more", "bridge", "10.245.0.0/16", "drain", "drain"},
		{"there was no network", "", "10.245.0.0/16", "live", "live"},
	} {
		r := &run{led: knows(t, c.had), desired: wants(t, "flannel: {backend: vxlan}")}
		r.desired.Node.PodCIDR = nil
		for _, text := range strings.Split(c.ranges, ",") {
			r.desired.Node.PodCIDR = append(r.desired.Node.PodCIDR, netip.MustParsePrefix(text))
		}
		p := &report.Plan{Class: c.class}
		if r.raise(p); p.Class != c.want {
			t.Errorf("%s: the class is %q (%s), want %q", c.name, p.Class, p.ClassWhy, c.want)
		}
	}
}
