package probe

import (
	"maps"
	"slices"
)

// Proof is what a change that stayed was proved by, and by what it was not.
type Proof struct {
	Probes []string // names of those that passed before the change, and so had to pass after it
	// Missing are kinds of proofs that were not made: kinds of probes of which none passed before
	// the change, though there was something to ask, and those of [Unmade].
	Missing []string
}

// Unmade are the kinds of proofs that are missed also where there is nobody to ask: that peers
// reach the node, and its pods.
func Unmade() []string { return []string{inboundProbe, podsProbe} }

// ProofKinds are the kinds of probes, each once, in their order.
func ProofKinds[P ~string](probes []P) (kinds []string) {
	for _, p := range probes {
		if kind := Probe(p).kind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// missingProofs are the kinds of proofs that a change does not have, of all that were worth trying.
func missingProofs(candidates, passed []Probe) []string {
	proved := ProofKinds(passed)
	wanted := append(ProofKinds(candidates), Unmade()...)
	return slices.DeleteFunc(wanted, func(kind string) bool { return slices.Contains(proved, kind) })
}

// Proof is what the change is proved by once it stays.
func (e *Evidence) Proof() *Proof {
	p := &Proof{Missing: e.MissingProofs}
	for _, probe := range e.Probes {
		p.Probes = append(p.Probes, string(probe))
	}
	for _, check := range e.Traffic {
		p.Probes = append(p.Probes, string(trafficProbe(check)))
	}
	for _, port := range slices.Sorted(maps.Keys(e.Inbound)) {
		p.Probes = append(p.Probes, string(inboundOf(port)))
	}
	if len(e.Inbound) > 0 {
		p.Missing = slices.DeleteFunc(slices.Clone(p.Missing), func(kind string) bool { return kind == inboundProbe })
	}
	return p
}
