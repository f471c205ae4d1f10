package cleanup

import "slices"

// And returns the marks of both lists, each mark once.
func (l Residue) And(more Residue) Residue { return combine(l, more, true) }

// Without returns the marks of a list that another list does not have. It compares the marks, not
// what they find on a host. It leaves out Open vSwitch, where no mode has marks.
func (l Residue) Without(kept Residue) Residue { return combine(l, kept, false) }

// combine returns the marks of both lists or, without both, the marks of l that o does not have.
func combine(l, o Residue, both bool) Residue {
	out := Residue{
		Units: selectors(l.Units, o.Units, both), Uplinks: selectors(l.Uplinks, o.Uplinks, both),
		Added: selectors(l.Added, o.Added, both), Programs: selectors(l.Programs, o.Programs, both),
		Rules: selectors(l.Rules, o.Rules, both), Routes: selectors(l.Routes, o.Routes, both),
		IPVS: selectors(l.IPVS, o.IPVS, both), Chains: selectors(l.Chains, o.Chains, both),
		Tables: selectors(l.Tables, o.Tables, both), Portmap: selectors(l.Portmap, o.Portmap, both),
		IPSets: selectors(l.IPSets, o.IPSets, both), XFRM: selectors(l.XFRM, o.XFRM, both), OVS: l.OVS,
		Links: selectors(l.Links, o.Links, both), Pins: selectors(l.Pins, o.Pins, both),
		Sysctls: selectors(l.Sysctls, o.Sysctls, both), Lines: selectors(l.Lines, o.Lines, both),
		Renamed: selectors(l.Renamed, o.Renamed, both), Files: selectors(l.Files, o.Files, both),
		Names: selectors(l.Names, o.Names, both), Types: selectors(l.Types, o.Types, both),
		LocalRule: l.LocalRule && !o.LocalRule, Others: selectors(l.Others, o.Others, both),
	}
	if both {
		out.OVS, out.LocalRule = slices.Concat(l.OVS, o.OVS), l.LocalRule || o.LocalRule
	}
	return out
}

// selectors returns the elements of both slices, each once, or, without both, the elements of the
// first slice that the other does not have. It returns nil if there are none.
func selectors[T comparable](of, other []T, both bool) (out []T) {
	if both {
		return slices.Concat(of, selectors(other, of, false))
	}
	for _, m := range of {
		if !slices.Contains(other, m) {
			out = append(out, m)
		}
	}
	return out
}
