package network

import (
	"net/netip"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// A range of a peer's pods takes nothing from the subnets of this node's links.
func TestOnLink(t *testing.T) {
	prefix := netip.MustParsePrefix
	f := &host.Facts{Links: []host.LinkFact{
		{Name: "lo", Loopback: true, Addresses: []netip.Prefix{prefix("10.9.9.9/32")}},
		{Name: "eth0", Addresses: []netip.Prefix{prefix("10.77.0.11/24"), prefix("fd00:77::11/64"), prefix("192.0.2.7/32")}},
		{Name: BridgeLink, Addresses: []netip.Prefix{prefix("10.244.1.1/24")}},
	}}
	for cidr, refused := range map[string]bool{
		"10.77.0.248/29": true, "10.77.0.0/24": true, "10.77.0.11/32": true, "192.0.2.7/32": true, "fd00:77::100/120": true,
		"10.77.0.0/16": false, "10.78.0.0/24": false, "10.244.1.0/25": false, "10.9.9.9/32": false, "fd00:78::/64": false, "192.0.2.6/31": false,
	} {
		if why := onLink(f, prefix(cidr)); (why != "") != refused {
			t.Errorf("%s: %q, want it refused: %t", cidr, why, refused)
		}
	}
}
