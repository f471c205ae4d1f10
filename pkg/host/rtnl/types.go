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
	Up        bool // administratively
	Running   bool // has a carrier
	Loopback  bool
	PtP       bool // point to point
	Master    string
	Alias     string
	Physical  bool // has a device behind it
	Promisc   bool
	ParentDev string // the device behind it, as its bus names it
	// of net_device (linux/if.h); 0: an earlier release wrote it down, without them
	Flags uint32 `json:",omitempty"`
}

// Address is an address on a link.
type Address struct {
	Link   string
	Prefix netip.Prefix
	Scope  string // global, link, host
	Label  string
	// Dynamic says that the kernel or a DHCP client gave it and may take it.
	Dynamic bool
}

// LinkAddress is an address and the link that it is on.
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
	Protocol int // rtnetlink's number; ours is [RouteProtocol]
	Scope    int
	MTU      int
	OnLink   bool
}

// RouteProtocol marks the routes that are ours (rtnetlink protocol number).
// /etc/iproute2/rt_protos of current distributions leaves it free.
const RouteProtocol = 149

// Within says that one of the ranges has the whole of p.
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
	Protocol int // who made it, as for routes
	// Narrow says that it asks for more than is read here: ports, users, the reverse.
	Narrow bool `json:"-"`
}
