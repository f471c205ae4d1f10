package report

import (
	"slices"
	"testing"
)

// A command that makes several passes reports all passes that changed something.
func TestRounds(t *testing.T) {
	plan := func(key string, state State) *Plan { return &Plan{Steps: []Step{{Key: key, State: state}}} }
	earlier := &Plan{}
	for _, p := range []*Plan{plan("a", Done), plan("b", Waits), plan("c", Done), plan("d", Done)} {
		p.AddRound(earlier)
		earlier = p
	}
	var keys []string
	for _, r := range earlier.Rounds {
		keys = append(keys, r.Steps[0].Key)
	}
	if want := []string{"a", "c"}; !slices.Equal(keys, want) {
		t.Errorf("rounds of %q, want %q", keys, want)
	}
}
