package desired

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
)

// A declared network (spec.networking.custom) is no longer in the documents when the node has to
// leave it. The ledger keeps what a switch then needs to know about it, from the first converged
// pass on. The revisions keep it too.

// Declared is the part of a declared network that the ledger keeps.
type Declared struct {
	Name    string          `json:"name,omitempty"`
	File    string          `json:"file,omitempty"` // the base name of its conf
	Writer  string          `json:"writer"`
	Agents  []string        `json:"agents,omitempty"`
	Residue cleanup.Residue `json:"leftovers"`
}

// Declared returns, as JSON, what only these documents know about their network. It returns "" for
// a network that the agent knows.
func (d *State) Declared() string {
	if d.Pinned != nil {
		return d.Pinned.declared
	}
	c := d.Node.Networking.Custom
	if c == nil {
		return ""
	}
	alone := *d.Node
	alone.Networking.Multus = nil // Multus may stay when the network goes
	row, _ := network.Of(&alone)
	// It cannot fail: Declared has only strings, numbers and lists of them.
	text, _ := json.Marshal(Declared{c.Name, row.Conf.File, row.Conf.Writer, row.Agents, row.Residue})
	return string(text)
}

// DeclaredOf decodes the part of a declared network that the ledger keeps.
func DeclaredOf(n ledger.Network) (out Declared, err error) {
	if n.Declared == "" {
		return Declared{}, nil
	}
	if err := json.Unmarshal([]byte(n.Declared), &out); err != nil {
		return Declared{}, fmt.Errorf("read what the documents declared of network %s: %w", n.Name, err)
	}
	return out, nil
}

// SameNetwork reports whether two networks are the same. Two declared networks differ by their
// names if both have one, and otherwise by their confs.
func SameNetwork(a, b ledger.Network) bool {
	if a.Name != b.Name {
		return false
	}
	one, errOne := DeclaredOf(a)
	two, errTwo := DeclaredOf(b)
	switch {
	case a.Declared == "" || b.Declared == "" || errOne != nil || errTwo != nil: // nothing shows that they differ
		return true
	case one.Name != "" && two.Name != "":
		return one.Name == two.Name
	}
	return one.File == two.File
}

// Row returns the data of a network that a node has or is to have.
func Row(n ledger.Network) (network.Network, error) {
	row := network.Named(n.Name)
	if n.Declared == "" {
		return row, nil
	}
	d, err := DeclaredOf(n)
	if err != nil {
		return row, err
	}
	if name := cmp.Or(d.Name, d.File); name != "" {
		row.Name += " " + name
	}
	row.Conf.File, row.Conf.Writer, row.Agents, row.Residue = d.File, d.Writer, d.Agents, d.Residue
	return row, nil
}

// SwitchSpec returns what the documents say about a switch of networks. A revision says nothing
// about it.
func (d *State) SwitchSpec() networks.Switch {
	if d.Pinned != nil || d.Node.Networking.Switch == nil {
		return networks.Switch{}
	}
	return *d.Node.Networking.Switch
}

// NetworkAfter returns the network that the node has once d is applied and the residue of former
// modes is removed.
func (d *State) NetworkAfter(before ledger.Network) ledger.Network {
	now := ledger.Network{Name: d.Network(), Declared: d.Declared(), PodCIDRs: d.Node.PodCIDR.String(),
		Multus: d.Multus(), Prepares: d.prepares, Modes: d.modes}
	if d.Pinned != nil && SameNetwork(before, now) {
		return before // a revision does not record all of it
	}
	return now
}

// NetworkMeanwhile returns the network that the node has while residue of former modes is there:
// it then has these modes too.
func (d *State) NetworkMeanwhile(before ledger.Network) ledger.Network {
	now := d.NetworkAfter(before)
	if !SameNetwork(before, now) {
		return now
	}
	modes := strings.Split(now.Modes, ",")
	for m := range strings.SplitSeq(before.Modes, ",") {
		if !slices.Contains(modes, m) {
			modes = append(modes, m)
		}
	}
	now.Modes = strings.Trim(strings.Join(modes, ","), ",")
	return now
}

// Multus reports whether the documents put Multus in front of the network.
func (d *State) Multus() bool { return d.Node.Networking.Multus != nil }

// PodRanges returns the pod ranges that the documents state.
func PodRanges(node *config.Node) []netip.Prefix { return slices.Concat(node.PodCIDR, node.PodCIDRs) }
