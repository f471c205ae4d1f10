package networks

import "github.com/netwright/netwright/pkg/config/decode"

// each calls do for the network that is chosen and for what stands beside it, as far as documents
// say it.
func (n *Networking) each(do func(name string, p part)) {
	for _, c := range choices {
		if p := c.said(n); p != nil {
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

// Fill gives the fields of the network that is set their defaults, where no document says them.
func (n *Networking) Fill(s *ClusterSettings, o decode.Origins) {
	n.each(func(name string, p part) {
		decode.FillFields(o, "spec.networking."+name, p.fields())
		if f, ok := p.(filler); ok {
			f.fill(s, o)
		}
	})
}

// Check refuses values that the chosen network refuses or does not work with, and warns of those
// without effect.
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
