package cleanup

import "slices"

// And is what two lists name, each mark once.
func (l Residue) And(more Residue) Residue {
	more = more.Without(l)
	return Residue{
		Units: slices.Concat(l.Units, more.Units), Uplinks: slices.Concat(l.Uplinks, more.Uplinks),
		Added:    slices.Concat(l.Added, more.Added),
		Programs: slices.Concat(l.Programs, more.Programs), Rules: slices.Concat(l.Rules, more.Rules),
		Routes: slices.Concat(l.Routes, more.Routes), IPVS: slices.Concat(l.IPVS, more.IPVS),
		Chains: slices.Concat(l.Chains, more.Chains), Tables: slices.Concat(l.Tables, more.Tables),
		Portmap: slices.Concat(l.Portmap, more.Portmap), IPSets: slices.Concat(l.IPSets, more.IPSets),
		XFRM: slices.Concat(l.XFRM, more.XFRM), OVS: slices.Concat(l.OVS, more.OVS),
		Links: slices.Concat(l.Links, more.Links), Pins: slices.Concat(l.Pins, more.Pins),
		Sysctls: slices.Concat(l.Sysctls, more.Sysctls), Lines: slices.Concat(l.Lines, more.Lines),
		Renamed: slices.Concat(l.Renamed, more.Renamed),
		Files:   slices.Concat(l.Files, more.Files), Names: slices.Concat(l.Names, more.Names),
		Types: slices.Concat(l.Types, more.Types), LocalRule: l.LocalRule || more.LocalRule,
		Others: slices.Concat(l.Others, more.Others),
	}
}

// Without is what a list names by marks that another has not: mark by mark, whatever they would
// find. Open vSwitch is left out of it: no mode has marks there.
func (l Residue) Without(kept Residue) Residue {
	return Residue{
		Units: minus(l.Units, kept.Units), Uplinks: minus(l.Uplinks, kept.Uplinks),
		Added:    minus(l.Added, kept.Added),
		Programs: minus(l.Programs, kept.Programs), Rules: minus(l.Rules, kept.Rules),
		Routes: minus(l.Routes, kept.Routes), IPVS: minus(l.IPVS, kept.IPVS),
		Chains: minus(l.Chains, kept.Chains), Tables: minus(l.Tables, kept.Tables),
		Portmap: minus(l.Portmap, kept.Portmap), IPSets: minus(l.IPSets, kept.IPSets),
		XFRM: minus(l.XFRM, kept.XFRM), OVS: l.OVS,
		Links: minus(l.Links, kept.Links), Pins: minus(l.Pins, kept.Pins),
		Sysctls: minus(l.Sysctls, kept.Sysctls), Lines: minus(l.Lines, kept.Lines),
		Renamed: minus(l.Renamed, kept.Renamed),
		Files:   minus(l.Files, kept.Files), Names: minus(l.Names, kept.Names),
		Types: minus(l.Types, kept.Types), LocalRule: l.LocalRule && !kept.LocalRule,
		Others: minus(l.Others, kept.Others),
	}
}

// minus is a list without what is in another; nil where nothing is left.
func minus[T comparable](all, but []T) (out []T) {
	for _, it := range all {
		if !slices.Contains(but, it) {
			out = append(out, it)
		}
	}
	return out
}
