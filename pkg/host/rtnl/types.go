package rtnl

import (
	"net/netip"
	"slices"
)

// Link is a network interface.
type Link struct {
	Index     int
	Name      string
	Kind      string // "" for a physical one; bridge, veth, vxlan, dummy …
	MTU       int
	MAC       string
	Up        bool // administratively up
	Running   bool // has a carrier
	Loopback  bool
	PtP       bool // point to point
	Master    string
	Alias     string
	Physical  bool // has a device
	Promisc   bool
	ParentDev string // name of the device on its bus
	// Flags are the flags of net_device (linux/if.h); 0: an earlier release wrote the link without
	// them.
	Flags uint32 `json:",omitempty"`
}

// Address is an address on a link.
type Address struct {
	Link   string
	Prefix netip.Prefix
	Scope  string // global, link, host
	Label  string
	// Dynamic means that the kernel or a DHCP client added the address and may remove it.
	Dynamic bool
}

// LinkAddress is an address and its link.
type LinkAddress struct {
	Link   string       `json:"link"`
	Prefix netip.Prefix `json:"prefix"`
}

// Route is a route of one table.
type Route struct {
	Type     string       // unicast, blackhole, unreachable, local
	Dst      netip.Prefix // 0.0.0.0/0 or ::/0 for a default route
	Gateway  netip.Addr   // invalid: none
	Link     string       // "": none (blackhole)
	Source   netip.Addr   // preferred source
	Table    int          // 254 main
	Metric   int
	Protocol int // rtnetlink's number; the agent's is [RouteProtocol]
	Scope    int
	MTU      int
	OnLink   bool
}

// RouteProtocol is the rtnetlink protocol number of the agent's routes and rules. No current
// distribution uses it in /etc/iproute2/rt_protos.
const RouteProtocol = 149

// Within reports whether one of the ranges contains all of p.
func Within(ranges []netip.Prefix, p netip.Prefix) bool {
	return slices.ContainsFunc(ranges,
		func(r netip.Prefix) bool { return r.Bits() <= p.Bits() && r.Contains(p.Addr()) })
}

// Rule is a policy rule.
type Rule struct {
	Priority int
	Family   int          // 4 or 6
	Src, Dst netip.Prefix // invalid: all
	IIF, OIF string
	Mark     uint32
	Mask     uint32
	Table    int
	Protocol int // the program that made it, as for routes
	// Narrow means that the rule has selectors that are not read here: ports, users, `not`.
	Narrow bool `json:"-"`
}
