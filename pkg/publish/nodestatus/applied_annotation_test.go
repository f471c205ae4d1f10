package nodestatus

import (
	"context"
	"io/fs"
	"testing"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/report"
)

func appliedStatus(state report.NodeState, applied int64) *report.Status {
	s := status(state, applied)
	s.Configuration.Applied = &report.Generation{Number: applied, Digest: "ab"}
	return s
}

// The annotation says once for each generation that it is applied, after the condition, and not
// before a pass has ended with it.
func TestTheAppliedGenerationIsAnAnnotation(t *testing.T) {
	a := newAPI()
	run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, _ func()) {
		starting := appliedStatus(report.NodeStarting, 3)
		n.Observe(starting, nil)
		wait(5 * time.Minute)
		if value, _ := a.applied(); value != "" {
			t.Errorf("a daemon that has not looked says %q", value)
		}
		n.Observe(appliedStatus(report.NodeConverged, 3), nil)
		wait(3 * time.Minute)
		if value, times := a.applied(); value != "3" || times != 1 || a.now().Status != kube.True {
			t.Errorf("%q after %d requests, condition %+v", value, times, a.now())
		}
		waits := appliedStatus(report.NodeConverged, 3) // generation 4 is published, and waits
		waits.Waiting = &report.Waiting{Generation: 4, Reason: "freeze"}
		n.Observe(waits, nil)
		wait(10 * time.Minute)
		if value, times := a.applied(); value != "3" || times != 1 {
			t.Errorf("while 4 waits: %q after %d requests", value, times)
		}
		for range 10 {
			n.Observe(appliedStatus(report.NodeConverged, 4), nil)
			wait(time.Minute)
		}
		if value, times := a.applied(); value != "4" || times != 2 {
			t.Errorf("%q after %d requests, want one each generation", value, times)
		}
	})
}

// A Node that is deleted and registered again gets the annotation again: the daemon looks for a
// lost annotation, and not only for changes.
func TestANodeThatIsRegisteredAnewIsToldAgain(t *testing.T) {
	a := newAPI()
	run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, _ func()) {
		n.Observe(appliedStatus(report.NodeConverged, 3), nil)
		wait(3 * time.Minute)
		for _, uid := range []string{"2", "3"} {
			a.registers(uid)
			wait(2 * time.Minute)
			if value, _ := a.applied(); a.now().Status != kube.True || value != "3" {
				t.Errorf("Node %s: %+v, %q applied", uid, a.now(), value)
			}
		}
	})
}

// If a Node is deleted, none of the node's identities finds it. The daemon tries each of them, and
// the next Node gets the status. The line that keeps it: pkg/publish/nodestatus/node.go,
// publishStatus.
func TestANodeThatIsGoneForEachIdentity(t *testing.T) {
	a := newAPI()
	run(t, a, func(t *testing.T, n *Node, _ *observer.ObservedLogs, _ func()) {
		n.As = func(ctx context.Context, do func(context.Context, Client) error) error { // as access.API.Own
			if err := do(ctx, a); err == nil {
				return nil
			}
			return do(ctx, a)
		}
		n.Observe(appliedStatus(report.NodeConverged, 3), nil)
		wait(3 * time.Minute)
		a.fails(fs.ErrNotExist)
		wait(10 * time.Minute)
		a.fails(nil)
		a.registers("2")
		wait(3 * time.Minute)
		if value, _ := a.applied(); a.now().Status != kube.True || value != "3" {
			t.Errorf("the next Node: %+v, %q applied", a.now(), value)
		}
	})
}
