package probe

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// If pods run here and a proof can judge them, the agent adds two pods of its own. The checks that
// passed before the change must pass after it. A proof that could not be made undoes nothing, and
// proves nothing. The lines that keep it: traffic.go, askTraffic, tryTraffic and awaitPods;
// proof.go, Proof.
func TestProofWithPodsOfOurOwn(t *testing.T) {
	const running = Probe("pods:10.244.1.2")
	broken := errors.New("no answer")
	well := map[string]error{"node and pod": nil, "pod to pod": nil}
	one := map[string]error{"node and pod": nil, "pod to pod": broken}
	for name, c := range map[string]struct {
		probes        []Probe
		judged        bool
		before, after map[string]error
		untried       error // the error after the change
		want          []Probe
		proved        int // checks in the revision
	}{
		"well":                   {[]Probe{running}, true, well, well, nil, nil, 2},
		"broken by the change":   {[]Probe{running}, true, well, one, nil, []Probe{"pods:two of our own, pod to pod"}, 2},
		"broken before":          {[]Probe{running}, true, one, one, nil, nil, 1},
		"no pod runs":            {[]Probe{"dns:10.0.0.2"}, true, well, one, nil, nil, 0},
		"they judge nothing":     {[]Probe{running}, false, well, one, nil, nil, 0},
		"nobody can try it then": {[]Probe{running}, true, well, nil, errors.New("no systemd"), nil, 0},
	} {
		answer, err := c.before, error(nil)
		m := Means{Traffic: func(context.Context, *host.Host) (map[string]error, error) { return answer, err }}
		j := &Comparison{Node: Prober{Means: m}, Evidence: &Evidence{Probes: c.probes}, OwnPods: c.judged}
		j.askTraffic(t.Context())
		answer, err = c.after, c.untried
		if got := j.awaitPods(t.Context(), 0).probes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q failed, want %q", name, got, c.want)
		}
		if got := len(j.Proof().Probes) - len(c.probes); got != c.proved {
			t.Errorf("%s: %d checks of the proof are told of, want %d", name, got, c.proved)
		}
	}
}
