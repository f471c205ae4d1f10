package main

import (
	"net/netip"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host"
)

// An endpoint listens at the address at which nodes with these documents connect to each other.
func TestReachedAt(t *testing.T) {
	four, six := netip.MustParseAddr("10.77.0.31"), netip.MustParseAddr("fd77::31")
	pods4, pods6 := netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:10::/48")
	facts := &host.Facts{Address: four, Uplink: "eth0", Links: []host.LinkFact{{Name: "lo", Addresses: []netip.Prefix{netip.MustParsePrefix("fd99::1/64")}},
		{Name: "eth0", Addresses: []netip.Prefix{netip.MustParsePrefix("fe80::1/64"), netip.PrefixFrom(six, 64), netip.PrefixFrom(four, 24)}}}}
	stated := netip.MustParseAddr("fd88::31")
	for name, c := range map[string]struct {
		node config.Node
		want netip.Addr
	}{
		"IPv4":                       {config.Node{PodCIDR: values.CIDRs{pods4}}, four},
		"both":                       {config.Node{PodCIDR: values.CIDRs{pods6, pods4}}, four},
		"no range":                   {config.Node{}, four},
		"IPv6":                       {config.Node{PodCIDR: values.CIDRs{pods6}}, six},
		"IPv6, stated":               {config.Node{PodCIDR: values.CIDRs{pods6}, Address: values.Addresses{stated}}, stated},
		"IPv6, IPv4 alone is stated": {config.Node{PodCIDR: values.CIDRs{pods6}, Address: values.Addresses{four}}, six},
	} {
		if got := reachedAt(&c.node, facts); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
