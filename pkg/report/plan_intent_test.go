package report

import (
	"encoding/json"
	"strings"
	"testing"
)

func agreedTo() *Plan {
	return &Plan{Cluster: "c", Node: "n", Network: "bridge", Generation: 3, Digest: "d", Steps: []Step{
		{Key: "file:/a", State: Planned, Reason: "absent", Effects: []string{}, Items: []Item{
			{Key: "file:/a", Op: "+", Fields: []Field{}, Diff: "+not text: \xff\xfe\n"}}},
		{Key: "link:b", State: Waits, Message: "waiting for a range"},
	}}
}

// A plan that was read from JSON has the intent that it had before, and only what acts counts. The
// lines that keep it: plan_intent.go, intended (Unmarshal, Planned).
func TestIntentSurvivesJSON(t *testing.T) {
	p := agreedTo()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var read Plan
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	read.Notes, read.Steps[1].Message, read.Steps[0].Reason = []Note{{Text: "news"}}, "waiting still", "content differs"
	if p.Intent() != read.Intent() || p.Stale(&read) != "" {
		t.Errorf("%s, read again %s: %s", p.Intent(), read.Intent(), p.Stale(&read))
	}
}

// Any difference in the store or on the host makes another intent, and the output names it. The
// lines that keep it: plan_intent.go, Intent and Stale.
func TestStale(t *testing.T) {
	for want, change := range map[string]func(*Plan){
		`the plan is of node "n" of cluster "c", and this is node "m" of cluster "c"`:        func(p *Plan) { p.Node = "m" },
		"the store changed: the plan is of generation 3, and the store has generation 4 now": func(p *Plan) { p.Digest, p.Generation = "e", 4 },
		"the store changed: the plan is of generation 3, and the store has sha256 e now":     func(p *Plan) { p.Digest, p.Generation = "e", 0 },
		"the network was bridge, and is calico now":                                          func(p *Plan) { p.Network = "calico" },
		"the host changed: file:/a would change otherwise":                                   func(p *Plan) { p.Steps[0].Items[0].Op = "~" },
		"the host changed: file:/a would not change any more; link:b would change now, too":  func(p *Plan) { p.Steps[0].State, p.Steps[1].State = Failed, Planned },
	} {
		now := agreedTo()
		change(now)
		if got := agreedTo().Stale(now); got != want || now.Intent() == agreedTo().Intent() {
			t.Errorf("%q, expected %q and another intent", got, want)
		}
	}
	many := agreedTo()
	for i := range 9 {
		many.Steps = append(many.Steps, Step{Key: "file:/" + strings.Repeat("x", i+1), State: Planned})
	}
	if got := agreedTo().Stale(many); !strings.HasSuffix(got, "; and 4 more") {
		t.Errorf("Stale returns %q", got)
	}
}
