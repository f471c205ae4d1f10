package daemon

import (
	"slices"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/hostroot"
)

// The agent refuses a path that no document may write. kubelet does not wait for it, since the node
// worked without it before. The lines that keep it: pkg/reconcile/changes/plan_task.go, PlanTask;
// pkg/reconcile/changes/errors.go, refusal; pkg/reconcile/changes/prepared.go, Prepared.
func TestWhatTheRuleRefusesHoldsNobodyUp(t *testing.T) {
	root := t.TempDir()
	passwd := file("/etc/passwd", "root")
	passwd.Refused = "the host's accounts and logins"
	plan, err := converge(t, root, passwd, file("/etc/a", "1"))
	if err == nil || !hostroot.There(root, "/etc/a") || hostroot.There(root, "/etc/passwd") {
		t.Errorf("%v\n%s", err, said(plan))
	}
	at := slices.IndexFunc(plan.Steps, func(s report.Step) bool { return s.Key == "file:/etc/passwd" })
	if at < 0 || plan.Steps[at].Refused != report.RefusedByRule || !changes.Prepared(plan) {
		t.Errorf("prepared: %v, %+v", changes.Prepared(plan), plan.Steps)
	}
	if keys := keysOf(plan, nil, time.Now()); !slices.ContainsFunc(keys, func(k report.KeyStatus) bool {
		return k.State == report.KeyFailing && k.Refused == report.RefusedByRule
	}) {
		t.Errorf("keysOf returns %+v", keys)
	}
}

// The status names the key that was repaired, also where a task has several and its first was
// right. The line that keeps it: pkg/report/event.go, Wrong.
func TestTheStatusNamesTheRepairedKey(t *testing.T) {
	made := &report.Plan{Steps: []report.Step{{Key: "file:/a", State: report.Done, Repair: true, Reason: "absent", Items: []report.Item{{Key: "file:/b"}}}}}
	if keys := keysOf(made, nil, time.Now()); len(keys) != 1 || keys[0].Key != "file:/a" || keys[0].Text != "absent: file:/b" {
		t.Errorf("keysOf returns %+v", keys)
	}
}
