package networks

import "github.com/netwright/netwright/pkg/config/decode"

// each calls do for the chosen network, and for multus and switch, if documents set them.
func (n *Networking) each(do func(name string, p part)) {
	for _, c := range n.choices() {
		if p := c.said(); p != nil {
			do(c.name, p)
		}
	}
	if n.Multus != nil {
		do("multus", n.Multus)
	}
	if n.Switch != nil {
		do("switch", n.Switch)
	}
}

// Fill gives the fields of the chosen network their defaults, if no document sets them.
func (n *Networking) Fill(s *ClusterSettings, o decode.Origins) {
	n.each(func(name string, p part) {
		decode.FillFields(o, "spec.networking."+name, p.fields())
		if f, ok := p.(filler); ok {
			f.fill(s, o)
		}
	})
}

// Check refuses values that the chosen network refuses or does not work with. It warns about values
// that have no effect.
func (n *Networking) Check(s *ClusterSettings, r *decode.Reporter) {
	n.each(func(_ string, p part) {
		if c, ok := p.(checker); ok {
			c.check(s, r)
		}
	})
	if n.Multus != nil {
		n.Multus.check(n, s, r)
	}
	if n.Switch != nil {
		n.Switch.check(n, r)
	}
}
