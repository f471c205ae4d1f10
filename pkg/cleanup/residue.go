package cleanup

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// Residue is what a network leaves on a node when it goes, each thing by its
// exact name and mark: nothing is flushed, and what only resembles stays. It is
// data of package network; [tasks.Cleanup] takes it away. Patterns are those of [path.Match].
type Residue struct {
	Units    []string          `json:"units,omitempty"`
	Moved    []UplinkSelector  `json:"moved,omitempty"`    // addresses of the machine that it took to a link of its own
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
	Pins    []string         `json:"pins,omitempty"`    // eBPF objects, below /sys/fs/bpf
	Sysctls []SysctlSelector `json:"sysctls,omitempty"` // that it wrote at run time, without a file
	Lines   []LineSelector   `json:"lines,omitempty"`   // in files of others
	Files   []string         `json:"files,omitempty"`   // a slash at the end is a directory with all that is in it
	// Names are lines that prove whose a table is, as those of Lines do, and that do not go.
	Names []LineSelector `json:"-"`
	// Types are those of its plugins: what others' plugins cached under a name that they share with it is theirs.
	Types []string `json:"types,omitempty"`
	// LocalRule says that it moves the rule for local addresses from priority 0.
	LocalRule bool `json:"localRule,omitempty"`
	// Others are what no agent on the node takes away, in words: it is only said.
	Others []string `json:"others,omitempty"`
}

// item is one thing that a selector names on this host.
type item struct {
	Key    graph.Key
	What   string                                  // as [tasks.Found] has it
	remove func(context.Context, *host.Host) error // nil: it goes with another
}

// Scope is what selectors are matched against besides the host.
type Scope struct {
	// PodCIDRs are where the pods of the network that goes had their addresses, on all nodes; for selectors of pods.
	PodCIDRs []netip.Prefix
	// Keep are keys that somebody else wants now: the next network's files, cbr0.
	Keep []graph.Key
}

// Selection is what a network leaves, and what its selectors are matched against.
type Selection struct {
	Residue
	Scope
}

var _ tasks.FindRemover = Selection{}

// phase finds one kind of thing.
type phase struct {
	name string
	find func(context.Context, host.View, Residue, Scope) ([]item, error)
}

// phases in the order in which taking away works: what the host stands on is
// restored first; programs go before what they steer packets around; rules go before the chains and sets that they use;
// rules before their tables' routes, routes before their links, bridges of Open vSwitch before its devices; pins before files. Upstream's own tools do it in this order
// where they do it (cilium-dbg post-uninstall-cleanup, kube-router --cleanup-config, dist/images/uninstall.sh of Kube-OVN).
func phases() []phase {
	return []phase{
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

// Find implements [tasks.FindRemover].
func (s Selection) Find(ctx context.Context, v host.View) ([]tasks.Found, error) {
	var out []tasks.Found
	routes := map[graph.Key]bool{} // by a rule that leads to it and by a selector of its own
	for _, phase := range phases() {
		found, err := phase.find(ctx, v, s.Residue, s.Scope)
		if err != nil {
			return nil, passing(err)
		}
		for _, f := range found {
			again := f.Key.Kind() == tasks.KindRoute && routes[f.Key]
			routes[f.Key] = true
			if !again && !s.keeps(f.Key) {
				out = append(out, tasks.Found{Key: f.Key, What: f.What})
			}
		}
	}
	return out, nil
}

// Remove implements [tasks.FindRemover]. Layer by phase, each looked for anew: what goes
// takes others with it.
func (s Selection) Remove(ctx context.Context, h *host.Host) error {
	var failed []error
	reload := false
	for _, phase := range phases() {
		found, err := phase.find(ctx, h, s.Residue, s.Scope)
		if err != nil {
			failed = append(failed, passing(err))
			continue
		}
		for _, f := range found {
			if f.remove == nil || s.keeps(f.Key) {
				continue
			}
			if err := f.remove(ctx, h); err != nil {
				failed = append(failed, passing(err))
			}
			reload = reload || f.Key.Kind() == tasks.KindFile && strings.HasPrefix(f.Key.Name(), "/etc/systemd/system/")
		}
	}
	if reload { // systemd forgets the units whose files went
		if err := h.DaemonReload(ctx); err != nil {
			failed = append(failed, passing(err))
		}
	}
	return errors.Join(failed...)
}

func (s Scope) keeps(key graph.Key) bool { return slices.Contains(s.Keep, key) }

// matches says that a name is one of the patterns. A pattern that is not well formed matches nothing; a test of package network holds all.
func matches(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}
