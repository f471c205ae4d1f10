package cleanup

import "slices"

// And returns the marks of both lists, each mark once.
func (l Residue) And(more Residue) Residue { return l.marks(more, true) }

// Without returns the marks of a list that another list does not have. It compares the marks, not
// what they find on a host. It leaves out Open vSwitch, where no mode has marks.
func (l Residue) Without(kept Residue) Residue { return l.marks(kept, false) }

// marks returns the marks of both lists or, without both, the marks of l that o does not have.
func (l Residue) marks(o Residue, both bool) Residue {
	out := Residue{
		Units: marks(l.Units, o.Units, both), Uplinks: marks(l.Uplinks, o.Uplinks, both),
		Added: marks(l.Added, o.Added, both), Programs: marks(l.Programs, o.Programs, both),
		Rules: marks(l.Rules, o.Rules, both), Routes: marks(l.Routes, o.Routes, both),
		IPVS: marks(l.IPVS, o.IPVS, both), Chains: marks(l.Chains, o.Chains, both),
		Tables: marks(l.Tables, o.Tables, both), Portmap: marks(l.Portmap, o.Portmap, both),
		IPSets: marks(l.IPSets, o.IPSets, both), XFRM: marks(l.XFRM, o.XFRM, both), OVS: l.OVS,
		Links: marks(l.Links, o.Links, both), Pins: marks(l.Pins, o.Pins, both),
		Sysctls: marks(l.Sysctls, o.Sysctls, both), Lines: marks(l.Lines, o.Lines, both),
		Renamed: marks(l.Renamed, o.Renamed, both), Files: marks(l.Files, o.Files, both),
		Names: marks(l.Names, o.Names, both), Types: marks(l.Types, o.Types, both),
		LocalRule: l.LocalRule && !o.LocalRule, Others: marks(l.Others, o.Others, both),
	}
	if both {
		out.OVS, out.LocalRule = slices.Concat(l.OVS, o.OVS), l.LocalRule || o.LocalRule
	}
	return out
}

// marks returns the elements of both slices, each once, or, without both, the elements of of that
// other does not have. It returns nil if there are none.
func marks[T comparable](of, other []T, both bool) (out []T) {
	if both {
		return slices.Concat(of, marks(other, of, false))
	}
	for _, m := range of {
		if !slices.Contains(other, m) {
			out = append(out, m)
		}
	}
	return out
}
