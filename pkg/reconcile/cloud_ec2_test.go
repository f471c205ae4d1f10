package reconcile

import (
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/ec2"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
	ec2test "github.com/netwright/netwright/test/ec2"
)

// TestEC2 makes passes with the agent's own client. A plan changes nothing. A pass turns the check
// off and leaves no entry in the ledger. The next pass has nothing to do and sends no request. If
// EC2 refuses, the error names the permission.
func TestEC2(t *testing.T) {
	s := &ec2test.Server{Region: "eu-central-1", Checks: map[string]bool{"eni-1": true}, Denied: []string{"ModifyNetworkInterfaceAttribute"}}
	server := httptest.NewServer(s)
	defer server.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_EC2": server.URL, "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"} {
		t.Setenv(name, value)
	}
	h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	h.Live.Facts.Cloud = "aws"
	h.Live.Facts.Instance = &host.Instance{Region: "eu-central-1", Interfaces: []facts.ENI{{ID: "eni-1"}}}
	d := desired.FromTasks("node-1", []tasks.Task{tasks.SourceDestCheck{Meta: tasks.Meta{From: "cluster.yaml:9:5"}, EC2: new(ec2.Client)}})
	pass := Pass{Log: zap.NewNop(), Host: host.Options{Root: t.TempDir()}}

	r, err := pass.plan(t.Context(), d, h.Live.View(), ledger.Load(h.Live.Files))
	if err != nil || !r.wanted.Changes.Any() || !s.Checks["eni-1"] {
		t.Fatalf("a plan: %v, changes %v, the check is on: %v", err, r.wanted.Changes.Any(), s.Checks["eni-1"])
	}
	if _, _, err := pass.converge(t.Context(), d, h, ledger.Load(h.Live.Files)); err == nil || !strings.Contains(err.Error(), "allow ec2:ModifyNetworkInterfaceAttribute to the instance's role") {
		t.Fatalf("without permission: %v", err)
	}
	s.Denied = nil
	if _, _, err := pass.converge(t.Context(), d, h, ledger.Load(h.Live.Files)); err != nil || s.Checks["eni-1"] {
		t.Fatalf("with permission: %v, the check is on: %v", err, s.Checks["eni-1"])
	}
	led := ledger.Load(h.Live.Files)
	if e, kept := led.Entries()[graph.MakeKey(tasks.KindSourceDest, "primary")]; kept {
		t.Errorf("the ledger has it: %+v", e)
	}
	s.Asked()
	if plan, _, err := pass.converge(t.Context(), d, h, led); err != nil || plan.Summary.Changes() != 0 {
		t.Errorf("once more: %v, %+v", err, plan)
	}
	if asked := s.Asked(); len(asked) != 0 {
		t.Errorf("a pass without a change asked %v", asked)
	}
}
