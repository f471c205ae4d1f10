package tasks

import (
	"testing"

	"github.com/netwright/netwright/pkg/graph"
)

// A reset takes a checkpoint for what it removes or restores, if the node may be reached by it. The
// line that keeps it: revert_costs.go, RevertCosts.
func TestTakingBack(t *testing.T) {
	for _, c := range []struct {
		key  graph.Key
		to   string
		asks []graph.Key
		want Disruption
	}{
		{key: "route:254/10.88.0.0/24", want: MayCutOff},
		{key: "rule:ipv4 712", want: MayCutOff},
		{key: "address:eth0/10.0.0.1/24", want: MayCutOff},
		{key: "nft:ip/netwright", want: MayCutOff},
		{key: "link:cbr0"}, // its addresses were removed before it
		{key: "link:eth0", to: "device mtu 1400", want: MayCutOff},
		{key: "sysctl:net.ipv4.ip_forward", to: "=0", want: MayCutOff},
		{key: "sysctl:net.ipv4.ip_forward", to: "=1"},
		{key: "sysctl:net.ipv4.ip_default_ttl", to: "=5", want: MayCutOff},
		{key: "sysctl:net.core.somaxconn", to: "=128"},
		{key: "file:/etc/systemd/network/10-cbr0.network", want: MayCutOff},
		{key: "file:/etc/systemd/system/systemd-networkd.service.d/10-ours.conf", asks: []graph.Key{Restart("systemd-networkd.service")}, want: MayCutOff},
		{key: "file:/etc/cni/net.d/10-ours.conflist", asks: []graph.Key{Restart("containerd.service")}},
		{key: "unit:systemd-networkd.service", to: "off", want: MayCutOff},
		{key: "unit:settle.service"},
	} {
		if got := RevertCosts(c.key, c.to, c.asks); got != c.want {
			t.Errorf("%s back to %q, which asks for %v: %d, want %d", c.key, c.to, c.asks, got, c.want)
		}
	}
}
