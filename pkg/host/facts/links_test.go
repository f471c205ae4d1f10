package facts

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// IPv6 comes in by another link than IPv4, whose default route has two next hops. A pod's link also
// accepts advertisements.
func TestUplinkFacts(t *testing.T) {
	ns := netns.New(t)
	for i, name := range []string{"eth0.1", "eth1", "ra2", "pod3"} {
		ns.Run("ip", "link", "add", name, "type", "veth", "peer", "name", "peer"+name)
		ns.Run("ip", "addr", "add", fmt.Sprintf("192.0.%d.2/24", i+1), "dev", name)
		ns.Run("ip", "link", "set", name, "up")
		ns.Run("ip", "link", "set", "peer"+name, "up")
	}
	ns.Run("ip", "route", "add", "default", "nexthop", "via", "192.0.1.1", "dev", "eth0.1", "nexthop", "via", "192.0.2.1", "dev", "eth1")
	ns.Run("ip", "-6", "route", "add", "default", "via", "fe80::1", "dev", "ra2")
	ns.Do(func() {
		noError(t, os.WriteFile("/proc/sys/net/ipv6/conf/eth1/accept_ra", []byte("0"), 0o600)) // switched off on purpose
		l := sourcesOf(t, Options{Root: "/", Sandbox: true})
		g := gatherer{Sources: l, facts: &Facts{}}
		noError(t, g.links(t.Context()))
		if g.facts.Uplink != "eth0.1" || g.facts.Address.String() != "192.0.1.2" {
			t.Errorf("uplink %s %s, want eth0.1 192.0.1.2", g.facts.Uplink, g.facts.Address)
		}
		if diff := cmp.Diff([]string{"eth0.1", "ra2"}, g.facts.RALinks); diff != "" {
			t.Errorf("links that listen (-want +got)\n%s", diff)
		}
		ups, err := l.net.Uplinks(t.Context())
		noError(t, err)
		if diff := cmp.Diff([]string{"eth0.1", "eth1", "ra2"}, ups); diff != "" {
			t.Errorf("uplinks (-want +got)\n%s", diff)
		}
	})
}
