package cleanup

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Residue lists what a network leaves on a node, each thing by its exact name and mark. Nothing is
// flushed, and what only looks similar stays. Package network has the data, and [tasks.Cleanup]
// removes the things. Patterns are those of [path.Match].
type Residue struct {
	Units   []string         `json:"units,omitempty"`
	Uplinks []UplinkSelector `json:"moved,omitempty"` // the machine's addresses that the network moved to its own link
	// Added are the ranges of addresses that the network itself adds to such a link. These
	// addresses and the routes by them do not go back to the device.
	Added    []netip.Prefix    `json:"added,omitempty"`
	Programs []ProgramSelector `json:"programs,omitempty"` // eBPF programs that are attached without a pin
	Rules    []RuleSelector    `json:"rules,omitempty"`
	Routes   []RouteSelector   `json:"routes,omitempty"`
	IPVS     []IPVSSelector    `json:"ipvs,omitempty"`
	Chains   []ChainSelector   `json:"chains,omitempty"` // of iptables-legacy and of iptables-nft
	Tables   []TableSelector   `json:"tables,omitempty"` // nft tables
	// Portmap are the names of its confs under which the plugin portmap publishes ports.
	Portmap []string         `json:"portmap,omitempty"`
	IPSets  []string         `json:"ipsets,omitempty"`
	XFRM    []XFRMSelector   `json:"xfrm,omitempty"` // IPsec policies and states
	OVS     []OVSSelector    `json:"ovs,omitempty"`
	Links   []LinkSelector   `json:"links,omitempty"`
	Pins    []string         `json:"pins,omitempty"`    // eBPF objects below /sys/fs/bpf; /**/ matches any depth
	Sysctls []SysctlSelector `json:"sysctls,omitempty"` // keys that it wrote at run time, without a file
	Lines   []LineSelector   `json:"lines,omitempty"`   // lines in files of other owners
	Files   []string         `json:"files,omitempty"`   // a slash at the end means a directory with everything in it
	// Renamed are files of other owners that the network renamed. They get their names back.
	Renamed []RenamedSelector `json:"renamed,omitempty"`
	// Names are lines that prove who owns a routing table, as the lines of Lines do. They are not
	// removed.
	Names []LineSelector `json:"-"`
	// Types are the types of its plugins. A cache entry under its name with the type of another
	// network's plugin belongs to that network.
	Types []string `json:"types,omitempty"`
	// LocalRule means that the network moves the policy rule for local addresses away from
	// priority 0.
	LocalRule bool `json:"localRule,omitempty"`
	// Others describes what no agent on the node can remove. It is only shown.
	Others []string `json:"others,omitempty"`
}

// Scope is what selectors are compared with besides the host.
type Scope struct {
	// PodCIDRs are the pod ranges of the removed network on all nodes, for selectors of pods.
	PodCIDRs []netip.Prefix
	// Retain are the keys that another owner wants now, for example files of the next network, or
	// cbr0.
	Retain []graph.Key
	// Current is the residue of the mode in which the same network runs now. What its marks match
	// stays, even if a mark of the removed mode matches it too. For iptables chains and rules only
	// the marks are compared, see [Residue.Without].
	Current Residue
}

// retains reports whether another owner wants a key, or something in the directory of that key.
func (s Scope) retains(key graph.Key) bool {
	return slices.ContainsFunc(s.Retain, func(k graph.Key) bool {
		return k == key || key.Kind() == tasks.KindFile && k.Kind() == tasks.KindFile &&
			strings.HasPrefix(k.Name(), key.Name()+"/")
	})
}

// RenamedSelector matches files with a suffix after their original name.
type RenamedSelector struct {
	Path   string `json:"path"` // a pattern, with the suffix
	Suffix string `json:"suffix"`
}

// ProgramSelector matches attached eBPF programs on any link of the machine, including its
// devices.
type ProgramSelector struct {
	Hook string `json:"hook"` // one of [residue.HookTC] …
	Name string `json:"name"` // a pattern; the kernel keeps 15 characters of a program's name, tc keeps all
}

// ChainSelector matches iptables chains, or rules in chains of other owners. With Chain alone it
// matches the chains of that name, with their content and every rule that leads to them. With any
// other field it matches rules in chains of that name ("" is any) that fit all set fields. It
// never matches portmap's chains, which several networks share; see [Residue.Portmap].
type ChainSelector struct {
	Table   string `json:"table,omitempty"`   // "" any
	Chain   string `json:"chain,omitempty"`   // a pattern
	Comment string `json:"comment,omitempty"` // a pattern for one of its comments
	Target  string `json:"target,omitempty"`  // a pattern
	In      string `json:"in,omitempty"`      // as iptables writes it: eth0, cali+, "! lo"; pattern
	Out     string `json:"out,omitempty"`     // a pattern
	Set     string `json:"set,omitempty"`     // a pattern for an ipset that the rule matches
}

// IPVSSelector matches IPVS services that fit all set fields.
type IPVSSelector struct {
	Link   string `json:"link,omitempty"`   // its address is an address of this link
	Pods   bool   `json:"pods,omitempty"`   // it has servers, and all their addresses are pods'
	Unless string `json:"unless,omitempty"` // a link that shows that IPVS has another owner: kube-ipvs0 of kube-proxy
}

// LinkSelector matches links. It never matches a link with a device behind it, the loopback, or a
// link with a default route, whatever their names.
type LinkSelector struct {
	Name string `json:"name"`           // a pattern
	Kind string `json:"kind,omitempty"` // veth, vxlan, bridge …; "" any virtual one
	// Master is the bridge whose port the link is; "" is any or none. Many programs use names such
	// as veth*.
	Master string `json:"master,omitempty"`
	MAC    string `json:"mac,omitempty"`   // pattern, "00:53:*"
	Alias  string `json:"alias,omitempty"` // a pattern for the alias that `ip link` shows
	// Pods requires that a route through the link, or an address of it, is in the pods' ranges.
	Pods bool `json:"pods,omitempty"`
}

// RouteSelector matches routes that fit all set fields. It never matches default routes of the
// main table, routes of the kernel, and routes of DHCP. A table alone matches nothing: see
// [RouteSelector.Bare].
type RouteSelector struct {
	Table    int    `json:"table,omitempty"`    // 0 is main, [rtnl.AllTables] is any except local
	Last     int    `json:"last,omitempty"`     // if set, the tables from Table to Last
	Protocol int    `json:"protocol,omitempty"` // the rtnetlink number: 12 bird, 17 kube-router, 80 felix
	Link     string `json:"link,omitempty"`     // a pattern
	Pods     bool   `json:"pods,omitempty"`     // its destination is in the pods' ranges
	Via      bool   `json:"via,omitempty"`      // it has a gateway, so it leads to another node and not to a pod here
	Type     string `json:"type,omitempty"`     // unicast, blackhole, unreachable, local
}

// TableSelector matches nft tables. It never matches portmap's table, which several networks
// share; see [Residue.Portmap].
type TableSelector struct {
	Family string `json:"family"`
	Name   string `json:"name"` // a pattern
}

// OVSSelector matches what a network has in Open vSwitch. While ovs-vswitchd runs, it is asked to
// remove its bridges. What is left in the kernel is removed if the datapath has nothing of other
// owners: first the tunnel devices, which keep their UDP port, then the datapath.
type OVSSelector struct {
	Socket   string   `json:"socket,omitempty"`   // of ovsdb-server; "" is /run/openvswitch/db.sock
	Bridges  []string `json:"bridges,omitempty"`  // patterns
	Ports    []string `json:"ports,omitempty"`    // ports of its bridges that belong to no pod: antrea-gw0
	Keys     []string `json:"keys,omitempty"`     // keys of external_ids and other_config in the table Open_vSwitch
	Tunnels  []string `json:"tunnels,omitempty"`  // for example genev_sys_6081
	Datapath string   `json:"datapath,omitempty"` // for example ovs-system
}

// RuleSelector matches policy rules that fit all set fields. A table alone matches nothing: see
// [RuleSelector.Bare].
type RuleSelector struct {
	Priority int    `json:"priority,omitempty"`
	Mark     uint32 `json:"mark,omitempty"`
	Mask     uint32 `json:"mask,omitempty"`
	Table    int    `json:"table,omitempty"`
	// Last extends Table to the tables from Table to Last. The routes in such a table are removed
	// with the rule, unless a rule of another owner leads to the table.
	Last     int    `json:"last,omitempty"`
	IIF      string `json:"iif,omitempty"`      // a pattern
	Protocol int    `json:"protocol,omitempty"` // the program that made it, as for routes
	From     bool   `json:"from,omitempty"`     // it has any source
	To       bool   `json:"to,omitempty"`       // it has any destination
	Marked   bool   `json:"marked,omitempty"`   // it matches a packet mark
	All      bool   `json:"all,omitempty"`      // it has no condition
	Pods     bool   `json:"pods,omitempty"`     // its source or destination is an address of a pod
}

// SysctlSelector matches a key that a network wrote at run time, without a file. The key gets the
// value that files of the host set, or else the kernel's default.
type SysctlSelector struct {
	Key     string `json:"key"`
	Wrote   string `json:"wrote"`
	Default string `json:"default"`
}

// LineSelector matches lines of a file of another owner, word by word. The amount of white space
// between words does not matter.
type LineSelector struct {
	File string `json:"file"`
	Line string `json:"line"`
}

// UplinkSelector matches a link to which a network moved the machine's addresses and routes from a
// device: a bridge that has the device as its port, or a link that replaces the device. They move
// back in one step before the link is removed.
type UplinkSelector struct {
	Link string `json:"link"`           // a pattern
	Kind string `json:"kind,omitempty"` // for example bridge or openvswitch
}

// XFRMSelector matches IPsec policies and states that fit all set fields.
type XFRMSelector struct {
	Mark     uint32 `json:"mark,omitempty"` // these bits of the mark; the policy may ask for more
	Mask     uint32 `json:"mask,omitempty"`
	ReqID    int    `json:"reqID,omitempty"`
	IfID     int    `json:"ifID,omitempty"`
	Priority int    `json:"priority,omitempty"` // of a policy; states have none
	// States means that the states of its policies are removed too. They are found by their SPI
	// and address or, without an SPI, by both addresses and their reqid.
	States bool `json:"states,omitempty"`
	// Pods requires a policy from addresses of pods to addresses of pods.
	Pods bool `json:"pods,omitempty"`
}
