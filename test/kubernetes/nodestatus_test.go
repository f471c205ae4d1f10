package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/publish/nodestatus"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/kubeapi"
)

// The condition is set, changes, stays beside kubelet's own and after an outage of the API, and
// ends with the agent. Events have counts.
func TestTheNodeIsTold(t *testing.T) {
	t.Parallel()
	s := kubeapi.Start(t, kubeapi.Options{})
	c := open(t, s, s.Kubeconfig(s.Here, s.Kubelet("node-1")))
	log, err := zap.NewDevelopment()
	if err != nil {
		t.Fatal(err)
	}
	n := &nodestatus.Node{Log: log, As: func(ctx context.Context, do func(context.Context, nodestatus.Client) error) error { return do(ctx, c) }}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()

	now := func(state report.NodeState, generation int64, reason string) *report.Status {
		s := &report.Status{Node: "node-1", State: state, Configuration: report.Configuration{Generation: generation}, Kinds: []report.KindStatus{{Kind: "file", Tasks: 3}}}
		if key, text, bad := strings.Cut(reason, ": "); bad {
			s.Keys = []report.KeyStatus{{Key: key, State: report.KeyState(state), Text: text}}
		}
		return s
	}
	n.Observe(now(report.NodeConverged, 7, ""), nil) // there is no Node yet
	s.Apply(node("node-1", "{}") + "---\n" + node("node-2", "{}"))
	s.Send(s.Kubelet("node-1"), types.StrategicMergePatchType, "/api/v1/nodes/node-1/status", `{"status": {"conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "False"}]}}`)
	first := await(t, s, "node-1", func(c corev1.NodeCondition) bool { return c.Status == "True" })
	if first.Reason != "Converged" || first.Message != "generation 7: all is as wanted" || first.LastTransitionTime.IsZero() || first.LastHeartbeatTime.IsZero() {
		t.Errorf("first: %+v", first)
	}

	repaired := report.Event{At: time.Now(), Kind: report.EventRepaired, Key: "sysctl:net.ipv4.ip_forward", Text: "value differs"}
	n.Observe(now(report.NodeFailing, 7, "file:/etc/cni/net.d/10-x.conflist: no space left"), []report.Event{repaired, {At: time.Now(), Kind: report.EventContested, Key: "link:x", Text: "given up"}})
	failing := await(t, s, "node-1", func(c corev1.NodeCondition) bool { return c.Status == "False" })
	if failing.Reason != "Failing" || !strings.Contains(failing.Message, "no space left") {
		t.Errorf("failing: %+v", failing)
	}
	for _, knows := range [][]string{{"MemoryPressure", "Ready"}, {"MemoryPressure", "Ready", nodestatus.Type}} { // before it has seen ours, and since
		kubeletUpdates(s, "node-1", knows...)
		all := conditions(s, "node-1")
		if got := condition(all); len(all) != 3 || got == nil || *got != failing || !slices.ContainsFunc(all, func(c corev1.NodeCondition) bool { return c.Reason == "KubeletReady" }) {
			t.Errorf("after kubelet's own update: %+v", all)
		}
	}
	for len(events(s, "node-1")) < 2 {
		time.Sleep(100 * time.Millisecond)
	}
	n.Observe(now(report.NodeFailing, 7, "file:/etc/cni/net.d/10-x.conflist: no space left"), []report.Event{repaired, repaired})
	counted := func(e corev1.Event) bool { return e.Reason == "NetworkRepaired" && e.Count == 3 && e.Type == "Normal" }
	for !slices.ContainsFunc(events(s, "node-1"), counted) {
		time.Sleep(100 * time.Millisecond)
	}
	all := events(s, "node-1")
	if len(all) != 2 || !slices.ContainsFunc(all, func(e corev1.Event) bool {
		return e.Reason == "NetworkContested" && e.Type == "Warning" && e.Message == "link:x: given up"
	}) {
		t.Errorf("events returns %+v", all)
	}

	s.Down()
	n.Observe(now(report.NodeContested, 8, "link:x: given up"), nil)
	n.Observe(now(report.NodeConverged, 9, ""), nil)
	s.Up()
	back := await(t, s, "node-1", func(c corev1.NodeCondition) bool { return c.Status == "True" })
	if back.Message != "generation 9: all is as wanted" || !back.LastTransitionTime.After(first.LastTransitionTime.Time) {
		t.Errorf("when the API is back: %+v", back)
	}
	cancel(errors.New("enough"))
	<-ended
	if got := condition(conditions(s, "node-1")); got == nil || got.Status != "Unknown" || got.Reason != "AgentStopped" {
		t.Errorf("when the agent has stopped: %+v", got)
	}
}

// When kubectl's wait returns, the gate of a rollout is true. A Node that is deleted and registered
// again gets all of it again.
func TestTheGateOfARollout(t *testing.T) {
	t.Parallel()
	s := kubeapi.Start(t, kubeapi.Options{})
	c := open(t, s, s.Kubeconfig(s.Here, s.Kubelet("node-1")))
	n := &nodestatus.Node{Log: zap.NewNop(), As: func(ctx context.Context, do func(context.Context, nodestatus.Client) error) error { return do(ctx, c) }}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	go func() { n.Run(ctx); close(ended) }()
	defer func() { cancel(errors.New("enough")); <-ended }()
	s.Apply(node("node-1", "{}"))

	status := func(applied, wanted int64) *report.Status {
		return &report.Status{Node: "node-1", State: report.NodeConverged, Kinds: []report.KindStatus{{Kind: "file", Tasks: 3}}, Configuration: report.Configuration{
			Generation: applied, Applied: &report.Generation{Number: applied, Digest: "ab"}, Wanted: &report.Generation{Number: wanted, Digest: "cd"},
		}}
	}
	applied := func() string {
		var n corev1.Node
		s.Get("/api/v1/nodes/node-1", &n)
		return n.Annotations[kube.AppliedAnnotation]
	}
	until := func(is string) {
		t.Helper()
		for applied() != is {
			time.Sleep(100 * time.Millisecond)
		}
	}
	n.Observe(status(7, 7), nil)
	until("7")
	if got := condition(conditions(s, "node-1")); got == nil || got.Status != "True" {
		t.Errorf("the annotation comes before the condition: %+v", got)
	}
	n.Observe(status(7, 8), nil) // the condition is True, and 8 is not applied
	await(t, s, "node-1", func(c corev1.NodeCondition) bool { return c.Status == "True" })
	if got := applied(); got != "7" {
		t.Errorf("%q is applied before 8 is", got)
	}
	n.Observe(status(8, 8), nil)
	until("8")

	s.Must("DELETE", "/api/v1/nodes/node-1", "")
	s.Apply(node("node-1", "{}"))
	await(t, s, "node-1", func(c corev1.NodeCondition) bool { return c.Status == "True" })
	until("8")
}

// NodeRestriction limits a kubelet's credential to its own Node. An account of our own needs a
// rule.
func TestAnothersConditionIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := kubeapi.Start(t, kubeapi.Options{})
	s.Apply(node("node-1", "{}") + "---\n" + node("node-2", "{}"))
	c := open(t, s, s.Kubeconfig(s.Here, s.Kubelet("node-1")))
	err := c.SetCondition(ctx, "node-2", kube.Condition{Type: nodestatus.Type, Status: kube.True, Since: time.Now(), Seen: time.Now()})
	if !errors.Is(err, fs.ErrPermission) || condition(conditions(s, "node-2")) != nil {
		t.Errorf("another's Node: %v, %+v", err, conditions(s, "node-2"))
	}
	if err := c.SetCondition(ctx, "node-3", kube.Condition{Type: nodestatus.Type, Status: kube.True}); err == nil {
		t.Error("a Node that is not there has a condition")
	}
	if err := c.RepeatEvent(ctx, "node-1.gone", kube.Event{Count: 2}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an Event that is not there: %v", err)
	}
	if found, err := c.Condition(ctx, "node-1", nodestatus.Type); err != nil || found != nil {
		t.Errorf("a condition that nobody set: %+v, %v", found, err)
	}
}

// kubeletUpdates updates a Node's status as kubelet does: with a two-way strategic merge patch of
// its changes, and with the order of the conditions that it knows.
// https://github.com/kubernetes/kubernetes/blob/v1.34.0/staging/src/k8s.io/component-helpers/node/util/status.go
func kubeletUpdates(s *kubeapi.Server, name string, knows ...string) {
	order := make([]string, len(knows))
	for i, kind := range knows {
		order[i] = fmt.Sprintf(`{"type": %q}`, kind)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	s.Send(s.Kubelet(name), types.StrategicMergePatchType, "/api/v1/nodes/"+name+"/status", fmt.Sprintf(
		`{"status": {"$setElementOrder/conditions": [%s], "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "at %s", "lastHeartbeatTime": %q}]}}`,
		strings.Join(order, ", "), now, now))
}

func conditions(s *kubeapi.Server, name string) []corev1.NodeCondition {
	var n corev1.Node
	s.Get("/api/v1/nodes/"+name, &n)
	return n.Status.Conditions
}

// condition returns our condition.
func condition(all []corev1.NodeCondition) *corev1.NodeCondition {
	for i := range all {
		if all[i].Type == nodestatus.Type {
			return &all[i]
		}
	}
	return nil
}

// await waits until our condition is as wanted. The test's own deadline ends a test that hangs.
func await(t *testing.T, s *kubeapi.Server, name string, is func(corev1.NodeCondition) bool) corev1.NodeCondition {
	t.Helper()
	for {
		if c := condition(conditions(s, name)); c != nil && is(*c) {
			return *c
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// events returns the Events that `kubectl describe node` shows.
func events(s *kubeapi.Server, name string) []corev1.Event {
	var list corev1.EventList
	s.Get("/api/v1/namespaces/default/events?fieldSelector="+url.QueryEscape("involvedObject.kind=Node,involvedObject.uid="+name), &list)
	return list.Items
}
