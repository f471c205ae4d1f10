package probe

import (
	"slices"
	"testing"
)

// A kind of proof is made if one of its probes passed. A kind that no probe could ask is not
// missing. The lines that keep it: proof.go, ProofKinds, kind and missingProofs.
func TestWhatAChangeIsNotProvedBy(t *testing.T) {
	const (
		hop, echo   = "neighbour:eth0/10.0.0.1", "ping:10.0.0.1"
		dns1, dns2  = "dns:10.0.0.2", "dns:10.0.0.3"
		group, full = "any:full:eth0/10.0.0.1 full:eth0/10.0.0.9", "full:eth0/10.0.0.1"
		store       = "store:s3://b/p c"
	)
	for name, c := range map[string]struct {
		candidates, passed []Probe
		by, not            []string
	}{
		"nothing to ask":         {nil, nil, nil, []string{"inbound", "pods"}},
		"all of it":              {[]Probe{store, hop, echo, dns1}, []Probe{store, hop, echo, dns1}, []string{"store", "neighbour", "ping", "dns"}, []string{"inbound", "pods"}},
		"one of two servers":     {[]Probe{dns1, dns2}, []Probe{dns2}, []string{"dns"}, []string{"inbound", "pods"}},
		"no server, and no echo": {[]Probe{hop, echo, dns1, dns2}, []Probe{hop}, []string{"neighbour"}, []string{"ping", "dns", "inbound", "pods"}},
		"others of full size":    {[]Probe{hop, full}, []Probe{hop, group}, []string{"neighbour", "full"}, []string{"inbound", "pods"}},
		"a pod that runs":        {[]Probe{hop}, []Probe{hop, "pods:10.244.1.2"}, []string{"neighbour", "pods"}, []string{"inbound"}},
		"what nobody knows":      {[]Probe{"nonsense:x"}, nil, nil, []string{"nonsense", "inbound", "pods"}},
	} {
		if by, not := ProofKinds(c.passed), missingProofs(c.candidates, c.passed); !slices.Equal(by, c.by) || !slices.Equal(not, c.not) {
			t.Errorf("%s: by %q, not by %q, want %q and %q", name, by, not, c.by, c.not)
		}
	}
}
