package tasks

import (
	"context"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Leftovers is what a network leaves on a node when it goes, each thing by its
// exact name and mark: nothing is flushed, and what only resembles stays. It is
// data of package network; [Cleanup] takes it away. Patterns are those of [path.Match].
type Leftovers struct {
	Units    []string      `json:"units,omitempty"`
	Moved    []MovedMark   `json:"moved,omitempty"`    // addresses of the machine that it took to a link of its own
	Programs []ProgramMark `json:"programs,omitempty"` // of eBPF, attached without a pin
	Rules    []RuleMark    `json:"rules,omitempty"`
	Routes   []RouteMark   `json:"routes,omitempty"`
	IPVS     []IPVSMark    `json:"ipvs,omitempty"`
	Chains   []ChainMark   `json:"chains,omitempty"` // of iptables, either flavour
	Tables   []TableMark   `json:"tables,omitempty"` // of nft
	// Portmap are the names of its confs by which plugin portmap publishes ports.
	Portmap []string     `json:"portmap,omitempty"`
	IPSets  []string     `json:"ipsets,omitempty"`
	XFRM    []XFRMMark   `json:"xfrm,omitempty"` // of IPsec
	OVS     []OVSMark    `json:"ovs,omitempty"`
	Links   []LinkMark   `json:"links,omitempty"`
	Pins    []string     `json:"pins,omitempty"`    // eBPF objects, below /sys/fs/bpf
	Sysctls []SysctlMark `json:"sysctls,omitempty"` // that it wrote at run time, without a file
	Lines   []LineMark   `json:"lines,omitempty"`   // in files of others
	Files   []string     `json:"files,omitempty"`   // a slash at the end is a directory with all that is in it
	// Names are lines that prove whose a table is, as those of Lines do, and that do not go.
	Names []LineMark `json:"-"`
	// Types are those of its plugins: what others' plugins cached under a name that they share with it is theirs.
	Types []string `json:"types,omitempty"`
	// LocalRule says that it moves the rule for local addresses from priority 0.
	LocalRule bool `json:"localRule,omitempty"`
	// Others are what no agent on the node takes away, in words: it is only said.
	Others []string `json:"others,omitempty"`
}

// Found is one thing that a mark names on this host.
type Found struct {
	Key graph.Key
	// What says it in the words of the tool that shows it: "vxlan, up", "blackhole 10.2.0.0/24 proto 80".
	What   string
	remove func(context.Context, *host.Host) error
}

// Scope is what marks are matched against besides the host.
type Scope struct {
	// PodCIDRs are where the pods of the network that goes had their addresses, on all nodes; for marks of pods.
	PodCIDRs []netip.Prefix
	// Keep are keys that somebody else wants now: the next network's files, cbr0.
	Keep []graph.Key
}

// layer is one kind of leftover.
type layer struct {
	name string
	find func(context.Context, host.View, Leftovers, Scope) ([]Found, error)
}

// layers in the order in which taking away works: what the host stands on is
// restored first; programs go before what they steer packets around; rules go before the chains and sets that they use;
// rules before their tables' routes, routes before their links, bridges of Open vSwitch before its devices; pins before files. Upstream's own tools do it in this order
// where they do it (cilium-dbg post-uninstall-cleanup, kube-router --cleanup-config, dist/images/uninstall.sh of Kube-OVN).
func layers() []layer {
	return []layer{
		{"units", findUnits},
		{"addresses", findMoved},
		{"local rule", findLocalRule},
		{"eBPF programs", findPrograms},
		{"policy rules", findRules},
		{"routes", findRoutes},
		{"IPVS", findIPVS},
		{"iptables", findChains},
		{"nft tables", findTables},
		{"ipsets", findIPSets},
		{"IPsec", findXFRM},
		{"Open vSwitch", findOVS},
		{"links", findLinks},
		{"pins", findPins},
		{"sysctls", findSysctls},
		{"lines", findLines},
		{"files", findFiles},
	}
}

// Find lists what is there, in the order in which it goes. It writes nothing.
func (l Leftovers) Find(ctx context.Context, v host.View, s Scope) ([]Found, error) {
	var out []Found
	for _, layer := range layers() {
		found, err := layer.find(ctx, v, l, s)
		if err != nil {
			return nil, passing(err)
		}
		out = append(out, found...)
	}
	routes := map[graph.Key]bool{} // by a rule that leads to it and by a mark of its own
	return slices.DeleteFunc(out, func(f Found) bool {
		again := f.Key.Kind() == KindRoute && routes[f.Key]
		routes[f.Key] = true
		return again || s.keeps(f.Key)
	}), nil
}

func (s Scope) keeps(key graph.Key) bool { return slices.Contains(s.Keep, key) }

// matches says that a name is one of the patterns. A pattern that is not well formed matches nothing; a test of package network holds all.
func matches(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}
