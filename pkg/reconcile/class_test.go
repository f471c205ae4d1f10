package reconcile

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// A change that takes a pod CIDR from a node needs a new node; one that enlarges the pod CIDR does
// not. The line that keeps it: report.go, raise.
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
		n := &config.Node{Networking: networks.Networking{Flannel: &networks.Flannel{}}}
		for text := range strings.SplitSeq(c.ranges, ",") {
			n.PodCIDR = append(n.PodCIDR, netip.MustParsePrefix(text))
		}
		h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		r := &plan{led: ledger.Load(h.Live.Files), target: target{desired: &desired.State{Node: n}}}
		if c.had != "" {
			had := ledger.Network{Name: c.had, PodCIDRs: "10.244.0.0/16,fd00:244::/48"}
			if err := r.led.Commit(t.Context(), h.Files, ledger.Batch{Head: ledger.Head{Network: had}}); err != nil {
				t.Fatal(err)
			}
		}
		p := &report.Plan{Class: c.class}
		if r.raise(p); p.Class != c.want {
			t.Errorf("%s: the class is %q (%s), want %q", c.name, p.Class, p.ClassWhy, c.want)
		}
	}
}
