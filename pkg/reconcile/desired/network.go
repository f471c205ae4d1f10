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

// A declared network (spec.networking.custom) is gone from the documents when the node is to leave
// it. What must be known of it then is in the ledger from its first converged pass on, and in the
// revisions.

// Declared is that part.
type Declared struct {
	Name    string          `json:"name,omitempty"`
	File    string          `json:"file,omitempty"` // base name of its conf
	Writer  string          `json:"writer"`
	Agents  []string        `json:"agents,omitempty"`
	Residue cleanup.Residue `json:"leftovers"`
}

// Declared is what only these documents know of their network, as JSON; "" where it is one of those
// that are known.
func (d *State) Declared() string {
	if d.Pinned != nil {
		return d.Pinned.declared
	}
	c := d.Node.Networking.Custom
	if c == nil {
		return ""
	}
	alone := *d.Node
	alone.Networking.Multus = nil // it may stay when the network goes
	row, _ := network.Of(&alone)
	// strings, numbers and lists of them
	text, _ := json.Marshal(Declared{c.Name, row.Conf.File, row.Conf.Writer, row.Agents, row.Residue})
	return string(text)
}

// DeclaredOf reads it back.
func DeclaredOf(n ledger.Network) (out Declared, err error) {
	if n.Declared == "" {
		return Declared{}, nil
	}
	if err := json.Unmarshal([]byte(n.Declared), &out); err != nil {
		return Declared{}, fmt.Errorf("what was declared of %s cannot be read: %w", n.Name, err)
	}
	return out, nil
}

// SameNetwork tells that two networks are one. Declared ones are told apart by their names where
// both have one, else by their confs.
func SameNetwork(a, b ledger.Network) bool {
	if a.Name != b.Name {
		return false
	}
	one, errOne := DeclaredOf(a)
	two, errTwo := DeclaredOf(b)
	switch {
	case a.Declared == "" || b.Declared == "" || errOne != nil || errTwo != nil: // nothing says that they differ
		return true
	case one.Name != "" && two.Name != "":
		return one.Name == two.Name
	}
	return one.File == two.File
}

// Row is the data of a network that a node has or is to have.
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

// SwitchSpec is what the documents say of a switch. A revision says nothing.
func (d *State) SwitchSpec() networks.Switch {
	if d.Pinned != nil || d.Node.Networking.Switch == nil {
		return networks.Switch{}
	}
	return *d.Node.Networking.Switch
}

// NetworkAfter is the network that a node has when d is applied, and what former modes of it left
// is gone.
func (d *State) NetworkAfter(before ledger.Network) ledger.Network {
	now := ledger.Network{Name: d.Network(), Declared: d.Declared(), PodCIDRs: d.Node.PodCIDR.String(),
		Multus: d.Multus(), Prepares: d.prepares, Modes: d.modes}
	if d.Pinned != nil && SameNetwork(before, now) {
		return before // a revision does not say all of it
	}
	return now
}

// NetworkMeanwhile is the same while something of former modes is there: the node has these, too.
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

// Multus tells that the documents have multus stand before the network.
func (d *State) Multus() bool { return d.Node.Networking.Multus != nil }

// PodRanges are those of pods that the documents state.
func PodRanges(node *config.Node) []netip.Prefix { return slices.Concat(node.PodCIDR, node.PodCIDRs) }
