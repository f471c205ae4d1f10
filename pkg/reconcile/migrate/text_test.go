package migrate

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

var update = flag.Bool("update", false, "rewrite testdata from what the code does now")

// The heading of a switch's plan, for people and for programs, says: from, to, safe or disruptive
// and why, what is removed, what pods notice, and the order.
func TestHeadingOfASwitch(t *testing.T) {
	pods := []cri.Pod{{Namespace: "default", Name: "web-1", Ready: true}, {Namespace: "default", Name: "web-2", Ready: true}}
	left := []tasks.Found{{Key: "link:cni0", Detail: "bridge, up"}, {Key: "file:/etc/cni/net.d/10-flannel.conflist", Detail: "file"}}
	for name, c := range map[string]struct {
		had   string // by the ledger
		spec  string
		flag  bool
		pods  []cri.Pod
		found []tasks.Found
	}{
		"not-allowed": {had: "flannel", spec: "bridge: {}", pods: pods, found: left},
		"allowed":     {had: "flannel", spec: "bridge: {}", flag: true, pods: pods[:1], found: left},
		"awaited":     {had: "bridge", spec: "flannel: {backend: vxlan}\n    switch: {allow: true}"},
		"safe":        {had: "kubenet", spec: "bridge: {}"},
		"safe-waits":  {had: "kubenet", spec: "bridge: {}", pods: pods},
		"handed-over": {had: "calico", spec: "cni: {}"},
	} {
		t.Run(name, func(t *testing.T) {
			d := wants(t, c.spec)
			g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := leaving(t, c.flag, d, g, nodeOver(t, nil, c.pods...), knows(t, c.had))
			if err != nil {
				t.Fatal(err)
			}
			s.found, s.From.Residue.Others = c.found, nil // from the host, and from the networks' own golden plans
			plan := &report.Plan{Cluster: "c", Node: "n", Network: d.Network(), Store: "test", Steps: s.Step(), Switch: s.Report()}
			plan.Finish(len(plan.Steps))
			var text bytes.Buffer
			if err := report.Text(&text, plan, report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			text.WriteString("\n")
			if err := report.YAML(&text, plan.Switch); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "switch", name+".txt")
			if *update {
				if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text.String()); diff != "" {
				t.Errorf("%s (go test ./pkg/reconcile/migrate -update rewrites it):\n%s", file, diff)
			}
		})
	}
}

// Every pair of networks has a judgement with a reason. Only networks whose row says so need no
// leave.
func TestEveryPairIsJudged(t *testing.T) {
	for _, from := range network.All() {
		for _, to := range network.All() {
			s := network.Between(from, to)
			switch {
			case s.Reason == "":
				t.Errorf("%s → %s: no reason", from.Name, to.Name)
			case s.Safe && from.SafeToReplace == "" && !s.Stays:
				t.Errorf("%s → %s is safe, and nothing says why %s gives way", from.Name, to.Name, from.Name)
			case s.Stays && to.Name != "cni":
				t.Errorf("%s → %s: what %s has would stay", from.Name, to.Name, from.Name)
			}
		}
	}
}
