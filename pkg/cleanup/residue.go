package cleanup

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Residue lists what a network leaves on a node, each thing by its exact name and mark. Nothing is
// flushed, and what only looks similar stays. Package network has the data, and [tasks.Cleanup]
// removes the things. Package networks has the fields of the selectors, because documents can set
// most of them. Patterns are those of [path.Match].
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
type ProgramSelector networks.CustomProgram

// ChainSelector matches iptables chains, or rules in chains of other owners. With Chain alone it
// matches the chains of that name, with their content and every rule that leads to them. With any
// other field it matches rules in chains of that name ("" is any) that fit all set fields. It
// never matches portmap's chains, which several networks share; see [Residue.Portmap].
type ChainSelector networks.CustomChain

// IPVSSelector matches IPVS services that fit all set fields.
type IPVSSelector networks.CustomIPVS

// LinkSelector matches links. It never matches a link with a device behind it, the loopback, or a
// link with a default route, whatever their names.
type LinkSelector networks.CustomLink

// RouteSelector matches routes that fit all set fields. It never matches default routes of the
// main table, routes of the kernel, and routes of DHCP. A table alone matches nothing: see
// [RouteSelector.Bare].
type RouteSelector networks.CustomRoute

// TableSelector matches nft tables. It never matches portmap's table, which several networks
// share; see [Residue.Portmap].
type TableSelector networks.CustomTable

// OVSSelector matches what a network has in Open vSwitch. While ovs-vswitchd runs, it is asked to
// remove its bridges. What is left in the kernel is removed if the datapath has nothing of other
// owners: first the tunnel devices, which keep their UDP port, then the datapath.
type OVSSelector networks.CustomOVS

// RuleSelector matches policy rules that fit all set fields. A table alone matches nothing: see
// [RuleSelector.Bare].
type RuleSelector networks.CustomRule

// SysctlSelector matches a key that a network wrote at run time, without a file. The key gets the
// value that files of the host set, or else the kernel's default.
type SysctlSelector networks.CustomValue

// LineSelector matches lines of a file of another owner, word by word. The amount of white space
// between words does not matter.
type LineSelector networks.CustomLine

// UplinkSelector matches a link to which a network moved the machine's addresses and routes from a
// device: a bridge that has the device as its port, or a link that replaces the device. They move
// back in one step before the link is removed.
type UplinkSelector networks.CustomUplink

// XFRMSelector matches IPsec policies and states that fit all set fields.
type XFRMSelector networks.CustomXFRM
