package daemon

import (
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/report"
)

// The status has what the last plan says of the node. The lines that keep it: status_after_pass.go,
// takePlan.
func TestTheStatusHasWhatThePlanSays(t *testing.T) {
	since := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := &report.Plan{Node: "n", Cluster: "c", NodeGroup: "g", Network: "bridge", AwaitingBoot: []string{"/etc/hosts"}, AwaitingBootSince: since,
		PendingEffects: []string{"effect:daemon-reload"}, Waiting: &report.Waiting{Generation: 2}, Awaits: &report.Awaits{Generation: 3}}
	s := &nodeStatus{log: zap.NewNop()}
	next := &report.Status{}
	s.takePlan(next, p)
	if next.Node != "n" || next.Cluster != "c" || next.NodeGroup != "g" || next.Network != "bridge" ||
		!slices.Equal(next.AwaitingBoot, p.AwaitingBoot) || next.AwaitingBootSince != since ||
		!slices.Equal(next.PendingEffects, p.PendingEffects) || next.Waiting != p.Waiting || next.Awaits != p.Awaits {
		t.Errorf("%+v", next)
	}
	s.takePlan(next, &report.Plan{})
	if next.Node != "n" || next.Cluster != "c" || next.NodeGroup != "g" || next.Network != "" || next.AwaitingBoot != nil || next.Waiting != nil {
		t.Errorf("after a plan without them: %+v", next)
	}
}
