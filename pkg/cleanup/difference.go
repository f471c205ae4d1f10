package cleanup

import "slices"

// And is what two lists name, each mark once.
func (l Residue) And(more Residue) Residue { return l.marks(more, true) }

// Without is what a list names by marks that another has not: mark by mark, whatever they would
// find. Open vSwitch is left out of it: no mode has marks there.
func (l Residue) Without(kept Residue) Residue { return l.marks(kept, false) }

// marks are those of both lists, or those of the first that the other has not.
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

// marks are those of both lists, each once, or those of the first that the other has not; nil where
// there is none.
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
