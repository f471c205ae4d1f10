package agent

import (
	"errors"
	"strings"
	"testing"
)

// What no document may ask for fails alone: all else is made, what an earlier release made of it stays,
// and kubelet is not held back by it, for it ran before without it.
// The lines that keep it: peers.go, look; outcome.go, prepared.
func TestWhatIsRefusedFailsAlone(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/netwright/x", "1"))
	refused, other := file("/etc/netwright/x", "2"), file("/etc/other", "2")
	refused.Refused = "that is the agent's own"
	for range 2 {
		plan, err := converge(t, root, refused, other)
		var rule *refusedError
		if !errors.As(err, &rule) || plan.Summary.Failed != 1 || !strings.Contains(said(plan), "refused: that is the agent's own") {
			t.Fatalf("%v\n%s", err, said(plan))
		}
		if !prepared(plan) {
			t.Errorf("kubelet is held back:\n%s", said(plan))
		}
		if x, y := read(t, root, "/etc/netwright/x"), read(t, root, "/etc/other"); x != "1" || y != "2" {
			t.Errorf("the files are %q and %q", x, y)
		}
	}
	if _, err := converge(t, root, other); err != nil || read(t, root, "/etc/netwright/x") != "1" {
		t.Errorf("what is no longer wanted was removed: %v", err)
	}
}
