package daemon

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/report"
)

// A daemon reports a conflict about what pods need as long as it lasts. It does so also while the
// key is right, until a minute after the key's last change.
func TestAQuarrelIsToldUntilItIsOver(t *testing.T) {
	q := contestedKeys{}
	pass := func(after time.Duration, steps ...report.Step) *report.Plan {
		p := &report.Plan{Steps: steps}
		p.Finish(3)
		q.update(p, noon.Add(after))
		return p
	}
	fought := report.Step{Key: "sysctl:a", State: report.Contested, Repair: true, Pods: true}
	p := pass(0, fought, report.Step{Key: "file:b", State: report.Contested})
	if len(p.Steps) != 2 || !p.Again.Equal(noon.Add(drift.PodsOver)) {
		t.Errorf("pass returns %+v", p)
	}
	p = pass(30 * time.Second)
	if len(p.Steps) != 1 || p.Steps[0].State != report.Contested || p.Steps[0].Repair || p.Summary.Contested != 1 || p.Summary.Right != 2 || !p.Again.Equal(noon.Add(drift.PodsOver)) {
		t.Errorf("while it is right: %+v", p)
	}
	pass(50*time.Second, fought)
	if p = pass(70 * time.Second); len(p.Steps) != 1 {
		t.Errorf("twenty seconds after it was changed again: %+v", p)
	}
	if p = pass(110 * time.Second); len(p.Steps) != 0 || !p.Again.IsZero() {
		t.Errorf("a minute after the last change: %+v", p)
	}
	pass(120*time.Second, fought)
	fought.State = report.Done
	pass(121*time.Second, fought) // a person's command repaired it
	if p = pass(122 * time.Second); len(p.Steps) != 0 {
		t.Errorf("after somebody asked: %+v", p)
	}
}

// A node is critical, and not waiting, while a key that pods need waits for its next repair: until
// then pods are cut off. The line that keeps it: pkg/daemon/status_keys.go, lostStates.
func TestAKeyOfPodsThatWaitsForItsRepairIsCritical(t *testing.T) {
	for _, pods := range []bool{true, false} {
		p := &report.Plan{Steps: []report.Step{{Key: "sysctl:net.ipv4.ip_forward", State: report.Waits, Pods: pods,
			Means: "no pod reaches another node", Message: "its next repair at noon"}}}
		p.Finish(3)
		state, why := stateOf(keysOf(p, nil, noon), p.Summary)
		if want := map[bool]report.NodeState{true: report.NodeCritical, false: report.NodeWaiting}[pods]; state != want {
			t.Errorf("pods need it %t: the node is %s (%s), want %s", pods, state, why, want)
		}
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
