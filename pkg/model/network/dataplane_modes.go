package network

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// DataplaneMode is one of several ways in which a network works, by a field of the documents. What
// a mode leaves that the one in its place has not goes when the documents change, as all of it goes
// with the network.
type DataplaneMode struct {
	Of      string          `json:"of"`   // what has the mode: "backend"; modes of another thing stand beside it
	Name    string          `json:"name"` // in ledgers, and never changed; no two of a row are called alike
	Residue cleanup.Residue `json:"leftovers"`

	// If says that the documents choose it. Where they leave it open it is true of each that may be
	// meant: then none is another's leftover.
	If func(Input) bool `json:"-"`
}

// withModes is the row with what its modes leave among what it leaves.
func (n Network) withModes() Network {
	for _, m := range n.Modes {
		n.Residue = n.Residue.And(m.Residue)
	}
	return n
}

// ModesOf names the modes that the documents choose, with commas: for the ledger.
func (n Network) ModesOf(in Input) string {
	var names []string
	for _, m := range n.Modes {
		if m.If(in) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ",")
}

// LeftModes takes away what modes left that the documents no longer choose: those that the node
// had, by the ledger; of a network whose program says its mode, every other. Each waits for what
// comes in its place.
func (n Network) LeftModes(in Input, had, origin string) (out []tasks.Task) {
	var things []string
	for _, m := range n.Modes {
		if !slices.Contains(things, m.Of) {
			things = append(things, m.Of)
		}
	}
	for _, of := range things {
		var former, now []string
		var gone, kept cleanup.Residue
		for _, m := range n.Modes {
			switch {
			case m.Of != of:
			case m.If(in):
				now, kept = append(now, m.Name), kept.And(m.Residue)
			case n.ModeURL != "" || slices.Contains(strings.Split(had, ","), m.Name):
				former, gone = append(former, m.Name), gone.And(m.Residue)
			}
		}
		if len(former) == 0 {
			continue
		}
		reach := cleanup.Scope{PodCIDRs: in.Node.PodCIDR, Current: kept}
		out = append(out, tasks.Cleanup{Meta: tasks.Meta{From: origin, At: graph.AfterKubelet},
			Network:   fmt.Sprintf("%s (%s)", n.Name, strings.Join(former, ", ")),
			Residue:   cleanup.Selection{Residue: gone.Without(kept), Scope: reach},
			Successor: n.successor(in, of, strings.Join(now, ", "), gone, kept)})
	}
	return out
}

// successor is what shows that the modes that the documents choose now are in force.
func (n Network) successor(in Input, of, now string, gone, kept cleanup.Residue) tasks.Successor {
	if n.ModeURL != "" {
		return cleanup.Answer{Subject: n.Name, URL: n.ModeURL, Want: now, Agents: n.Agents}
	}
	who := n.Name + " without any " + of
	if now != "" {
		who = fmt.Sprintf("%s with %s %s", n.Name, of, now)
	}
	s := in.Node.Networking.Switch
	return cleanup.ActiveMode{
		Selection: cleanup.Selection{Residue: kept, Scope: cleanup.Scope{PodCIDRs: in.Node.PodCIDR}},
		Former:    gone, Subject: who, Allowed: s != nil && s.Allow, Allow: "spec.networking.switch: {allow: true}",
	}
}
