package agent

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
)

// A declared network (spec.networking.custom) is gone from the documents when the node is to leave
// it. What must be known of it then is in the ledger from its first converged pass on, and in the
// revisions.

// declared is that part.
type declared struct {
	Name    string          `json:"name,omitempty"`
	File    string          `json:"file,omitempty"` // base name of its conf
	Writer  string          `json:"writer"`
	Agents  []string        `json:"agents,omitempty"`
	Residue cleanup.Residue `json:"leftovers"`
}

// declared is what only these documents know of their network, as JSON; "" where it is one of those
// that are known.
func (d *Desired) declared() string {
	if d.held != nil {
		return d.held.declared
	}
	c := d.Node.Networking.Custom
	if c == nil {
		return ""
	}
	alone := *d.Node
	alone.Networking.Multus = nil // it may stay when the network goes
	row, _ := network.Of(&alone)
	text, _ := json.Marshal(declared{c.Name, row.Conf.File, row.Conf.Writer, row.Agents, row.Residue}) // strings, numbers and lists of them
	return string(text)
}

// declaredOf reads it back.
func declaredOf(n ledger.Network) (out declared, err error) {
	if n.Declared == "" {
		return declared{}, nil
	}
	if err := json.Unmarshal([]byte(n.Declared), &out); err != nil {
		return declared{}, fmt.Errorf("what was declared of %s cannot be read: %w", n.Name, err)
	}
	return out, nil
}

// sameNetwork tells that two networks are one. Declared ones are told apart by their names where
// both have one, else by their confs.
func sameNetwork(a, b ledger.Network) bool {
	if a.Name != b.Name {
		return false
	}
	one, errOne := declaredOf(a)
	two, errTwo := declaredOf(b)
	switch {
	case a.Declared == "" || b.Declared == "" || errOne != nil || errTwo != nil: // nothing says that they differ
		return true
	case one.Name != "" && two.Name != "":
		return one.Name == two.Name
	}
	return one.File == two.File
}

// rowOf is the data of a network that a node has or is to have.
func rowOf(n ledger.Network) (network.Network, error) {
	row := network.Named(n.Name)
	if n.Declared == "" {
		return row, nil
	}
	d, err := declaredOf(n)
	if err != nil {
		return row, err
	}
	if name := cmp.Or(d.Name, d.File); name != "" {
		row.Name += " " + name
	}
	row.Conf.File, row.Conf.Writer, row.Agents, row.Residue = d.File, d.Writer, d.Agents, d.Residue
	return row, nil
}
