package watch

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Interest is what a [Watcher] watches. It has names, not wanted values: whoever gets an event must
// look at the values.
type Interest struct {
	Paths     []string // the path, and any replaced directory above it
	Lists     []string // directories with all their names
	Links     []string // without their addresses
	Addresses []netip.Addr
	Routes    []rtnl.Route // by table and destination
	Rules     []rtnl.Rule  // by family and priority
	Tables    []firewall.TableName
	Forward   bool     // chains of nf_tables at the forward hook
	Sysctls   []string // in dotted form; for unnoticed writes see [SysctlNotifies]
	Modules   []string
	Mounts    []string
	Units     []string
	// Holders are links with the addresses that they have. An address that is added or removed is
	// an event. The report of an address that is there already is none: each renewal of a lease and
	// each router advertisement causes one.
	Holders map[string][]netip.Addr
	// Default counts where there are Holders.
	Default DefaultRoute
}

// DefaultRoute is the node's default route in the main table. Another link's default route that is
// added is an event, and so is one of this link that is removed. The report of one on this link is
// none: each renewal of a lease and each router advertisement causes one. Where another link has a
// default route too, its reports are events.
type DefaultRoute struct {
	Link string // "" if there is none: then each that is added is an event
	IPv6 bool   // else those of IPv6 are no events: the route of IPv4 goes before them
}

// same reports whether two interests name the same things in the same order.
func (i Interest) same(o Interest) bool {
	return i.Forward == o.Forward && slices.Equal(i.Paths, o.Paths) && slices.Equal(i.Lists, o.Lists) &&
		slices.Equal(i.Links, o.Links) &&
		slices.Equal(i.Addresses, o.Addresses) && slices.Equal(i.Routes, o.Routes) && slices.Equal(i.Rules, o.Rules) &&
		slices.Equal(i.Tables, o.Tables) &&
		slices.Equal(i.Sysctls, o.Sysctls) && slices.Equal(i.Modules, o.Modules) && slices.Equal(i.Mounts, o.Mounts) &&
		slices.Equal(i.Units, o.Units) && maps.EqualFunc(i.Holders, o.Holders, slices.Equal) &&
		i.Default == o.Default
}
