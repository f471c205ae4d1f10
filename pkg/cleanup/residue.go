package cleanup

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Residue is what a network leaves on a node when it goes, each thing by its
// exact name and mark: nothing is flushed, and what only resembles stays. It is
// data of package network; [tasks.Cleanup] takes it away. Patterns are those of [path.Match].
type Residue struct {
	Units   []string         `json:"units,omitempty"`
	Uplinks []UplinkSelector `json:"moved,omitempty"` // addresses of the machine that it took to a link of its own
	// Added are ranges whose addresses the network adds to such a link: neither they nor routes by
	// them go to the device.
	Added    []netip.Prefix    `json:"added,omitempty"`
	Programs []ProgramSelector `json:"programs,omitempty"` // of eBPF, attached without a pin
	Rules    []RuleSelector    `json:"rules,omitempty"`
	Routes   []RouteSelector   `json:"routes,omitempty"`
	IPVS     []IPVSSelector    `json:"ipvs,omitempty"`
	Chains   []ChainSelector   `json:"chains,omitempty"` // of iptables, either flavour
	Tables   []TableSelector   `json:"tables,omitempty"` // of nft
	// Portmap are the names of its confs by which plugin portmap publishes ports.
	Portmap []string         `json:"portmap,omitempty"`
	IPSets  []string         `json:"ipsets,omitempty"`
	XFRM    []XFRMSelector   `json:"xfrm,omitempty"` // of IPsec
	OVS     []OVSSelector    `json:"ovs,omitempty"`
	Links   []LinkSelector   `json:"links,omitempty"`
	Pins    []string         `json:"pins,omitempty"`    // eBPF objects, below /sys/fs/bpf; /**/: at any depth
	Sysctls []SysctlSelector `json:"sysctls,omitempty"` // that it wrote at run time, without a file
	Lines   []LineSelector   `json:"lines,omitempty"`   // in files of others
	Files   []string         `json:"files,omitempty"`   // a slash at the end is a directory with all that is in it
	// Renamed are files of others that it gave another name; they get their own back.
	Renamed []RenamedSelector `json:"renamed,omitempty"`
	// Names are lines that prove whose a table is, as those of Lines do, and that do not go.
	Names []LineSelector `json:"-"`
	// Types are those of its plugins: what others' plugins cached under a name that they share with
	// it is theirs.
	Types []string `json:"types,omitempty"`
	// LocalRule says that it moves the rule for local addresses from priority 0.
	LocalRule bool `json:"localRule,omitempty"`
	// Others are what no agent on the node takes away, in words: it is only said.
	Others []string `json:"others,omitempty"`
}

// Scope is what selectors are matched against besides the host.
type Scope struct {
	// PodCIDRs are where the pods of the network that goes had their addresses, on all nodes; for
	// selectors of pods.
	PodCIDRs []netip.Prefix
	// Retain are keys that somebody else wants now: the next network's files, cbr0.
	Retain []graph.Key
	// Current is what of the same network is in use: what its marks name stays, although a mark of
	// what goes names it too. Chains of iptables and their rules are told apart by their marks
	// alone, see [Residue.Without].
	Current Residue
}

// retains says that somebody wants a key, or what is in the directory that it is.
func (s Scope) retains(key graph.Key) bool {
	return slices.ContainsFunc(s.Retain, func(k graph.Key) bool {
		return k == key || key.Kind() == tasks.KindFile && k.Kind() == tasks.KindFile &&
			strings.HasPrefix(k.Name(), key.Name()+"/")
	})
}

// RenamedSelector names files that have a suffix after their own name.
type RenamedSelector struct {
	Path   string `json:"path"` // pattern, with the suffix
	Suffix string `json:"suffix"`
}

// ProgramSelector names programs of eBPF where they are attached, on any link of the machine, its
// devices too.
type ProgramSelector struct {
	Hook string `json:"hook"` // [residue.HookTC] …
	Name string `json:"name"` // pattern; the kernel keeps 15 characters of a name, tc all
}

// ChainSelector names iptables chains, or rules in chains of others. With Chain alone it means the
// chains of that name, with all that is in them and every rule that leads there; with anything else
// set, rules in chains of that name ("" any) for which all that is set holds. Portmap's chains are
// of many networks: no selector means one, see [Residue.Portmap].
type ChainSelector struct {
	Table   string `json:"table,omitempty"`   // "" any
	Chain   string `json:"chain,omitempty"`   // pattern
	Comment string `json:"comment,omitempty"` // pattern of one of its comments
	Target  string `json:"target,omitempty"`  // pattern
	In      string `json:"in,omitempty"`      // as iptables writes it: eth0, cali+, "! lo"; pattern
	Out     string `json:"out,omitempty"`     // likewise
	Set     string `json:"set,omitempty"`     // pattern of an ipset that the rule asks
}

// IPVSSelector names services of IPVS. All that is set must hold.
type IPVSSelector struct {
	Link   string `json:"link,omitempty"`   // its address is one of this link's
	Pods   bool   `json:"pods,omitempty"`   // it has servers, and the addresses of all are pods'
	Unless string `json:"unless,omitempty"` // a link that says that IPVS is somebody else's: kube-ipvs0 of kube-proxy
}

// LinkSelector names links. A link with a device behind it, the loopback and one
// that a default route goes through are never meant, whatever their names.
type LinkSelector struct {
	Name string `json:"name"`           // pattern
	Kind string `json:"kind,omitempty"` // veth, vxlan, bridge …; "" any virtual one
	// Master is the bridge that it is a port of; "" any or none. Names such as veth* are
	// everybody's.
	Master string `json:"master,omitempty"`
	MAC    string `json:"mac,omitempty"`   // pattern, "00:53:*"
	Alias  string `json:"alias,omitempty"` // pattern of what `ip link` shows as its alias
	// Pods says that a route through it, or an address of it, is within the pods' addresses.
	Pods bool `json:"pods,omitempty"`
}

// RouteSelector names routes. All that is set must hold. Default routes of the main table, the
// kernel's own and those of DHCP are never meant. A table alone selects nothing: see
// [RouteSelector.Bare].
type RouteSelector struct {
	Table    int    `json:"table,omitempty"`    // 0 is main, [rtnl.AllTables] any but local
	Last     int    `json:"last,omitempty"`     // tables from Table to Last
	Protocol int    `json:"protocol,omitempty"` // rtnetlink's number: 12 bird, 17 kube-router, 80 felix
	Link     string `json:"link,omitempty"`     // pattern
	Pods     bool   `json:"pods,omitempty"`     // its destination is within the pods' addresses
	Via      bool   `json:"via,omitempty"`      // it has a gateway: to other nodes, not to a pod here
	Type     string `json:"type,omitempty"`     // unicast, blackhole, unreachable, local
}

// TableSelector names nft tables. That of portmap is of many networks: no selector means it, see
// [Residue.Portmap].
type TableSelector struct {
	Family string `json:"family"`
	Name   string `json:"name"` // pattern
}

// OVSSelector names what a network has in Open vSwitch. While ovs-vswitchd runs it is asked to take
// its bridges away; what is left in the kernel goes when nothing of others is in the datapath:
// tunnel devices first, which keep their UDP port, then the datapath.
type OVSSelector struct {
	Socket   string   `json:"socket,omitempty"`   // of ovsdb-server; "" is /run/openvswitch/db.sock
	Bridges  []string `json:"bridges,omitempty"`  // patterns
	Ports    []string `json:"ports,omitempty"`    // of its bridges that are no pod's: antrea-gw0
	Keys     []string `json:"keys,omitempty"`     // of external_ids and other_config of the table Open_vSwitch
	Tunnels  []string `json:"tunnels,omitempty"`  // genev_sys_6081
	Datapath string   `json:"datapath,omitempty"` // ovs-system
}

// RuleSelector names policy rules. All that is set must hold. A table alone selects nothing: see
// [RuleSelector.Bare].
type RuleSelector struct {
	Priority int    `json:"priority,omitempty"`
	Mark     uint32 `json:"mark,omitempty"`
	Mask     uint32 `json:"mask,omitempty"`
	Table    int    `json:"table,omitempty"`
	// tables from Table to Last; the routes in one go with the rule, if no rule of others leads
	// there
	Last     int    `json:"last,omitempty"`
	IIF      string `json:"iif,omitempty"`      // pattern
	Protocol int    `json:"protocol,omitempty"` // who made it, as for routes
	From     bool   `json:"from,omitempty"`     // it has a source, whatever it is
	To       bool   `json:"to,omitempty"`       // it has a destination
	Marked   bool   `json:"marked,omitempty"`   // it asks for a mark of packets
	All      bool   `json:"all,omitempty"`      // it asks for nothing
	Pods     bool   `json:"pods,omitempty"`     // from or to an address of the pods
}

// SysctlSelector names a value that a network wrote at run time, without a file. It goes back to
// what files of the host set, else to the kernel's own.
type SysctlSelector struct {
	Key     string `json:"key"`
	Wrote   string `json:"wrote"`
	Default string `json:"default"`
}

// LineSelector names lines of a file of others, word by word: how much white space is between them
// does not count.
type LineSelector struct {
	File string `json:"file"`
	Line string `json:"line"`
}

// UplinkSelector names a link to which a network moved the machine's addresses and routes from a
// device: a bridge that has the device as its port, or a link that stands in its place. They go
// back in one step, before the link goes.
type UplinkSelector struct {
	Link string `json:"link"`           // pattern
	Kind string `json:"kind,omitempty"` // bridge, openvswitch …
}

// XFRMSelector names policies and states of IPsec. All that is set must hold.
type XFRMSelector struct {
	Mark     uint32 `json:"mark,omitempty"` // of these bits; others may be asked for as well
	Mask     uint32 `json:"mask,omitempty"`
	ReqID    int    `json:"reqID,omitempty"`
	IfID     int    `json:"ifID,omitempty"`
	Priority int    `json:"priority,omitempty"` // of a policy; states have none
	// States says that the states to which its policies lead go too: by their number (spi) and
	// address, or without a number by both addresses and their reqid.
	States bool `json:"states,omitempty"`
	// Pods says that it is a policy from addresses of the pods to addresses of the pods.
	Pods bool `json:"pods,omitempty"`
}
