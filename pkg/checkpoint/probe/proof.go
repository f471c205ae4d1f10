package probe

import (
	"maps"
	"slices"
)

// Proof says which probes proved a change, and which kinds of proofs are missing.
type Proof struct {
	Probes []string // probes that passed before the change, and so had to pass after it
	// Missing are the kinds of proofs that were not made: kinds of probes of which some were tried
	// and none passed before the change, and those of [Unmade].
	Missing []string
}

// Unmade returns the kinds of proofs that count as missing even if there is nothing to probe: that
// peers reach the node, and that the node reaches its pods.
func Unmade() []string { return []string{inboundProbe, podsProbe} }

// ProofKinds returns the kinds of the probes, each once, in their order.
func ProofKinds[P ~string](probes []P) (kinds []string) {
	for _, p := range probes {
		if kind := Probe(p).kind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// missingProofs returns the kinds of proofs that a change does not have.
func missingProofs(candidates, passed []Probe) []string {
	proved := ProofKinds(passed)
	wanted := append(ProofKinds(candidates), Unmade()...)
	return slices.DeleteFunc(wanted, func(kind string) bool { return slices.Contains(proved, kind) })
}

// Proof returns the proof of the change, if it stays.
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
