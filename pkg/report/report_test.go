package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// planned returns a step with a task's change, as package changes makes it.
func planned(key string, c tasks.Change, fill ...func(*report.Step)) report.Step {
	s := report.Step{Key: key, State: report.Planned, Gate: "before kubelet", Why: "every node", Origin: "node default"}
	secret := false
	for _, f := range fill {
		f(&s)
		secret = secret || s.Why == "a secret"
	}
	if c.Disruption == tasks.NoDisruption {
		c.Proof = tasks.ProofHarmless
	}
	report.FromChange(&s, &c, secret)
	return s
}

func item(key string, op tasks.Op, fields ...tasks.Field) tasks.Item {
	return tasks.Item{Key: graph.Key(key), Op: op, Fields: fields}
}

func contents(key string, op tasks.Op, before, after string, fields ...tasks.Field) tasks.Item {
	it := item(key, op, fields...)
	it.After = []byte(after)
	if op != tasks.Create {
		it.Before = []byte(before)
	}
	return it
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("net.ipv4.neigh.default.gc_thresh" + string(rune('a'+i)) + " = 1\n")
	}
	return b.String()
}

// everyState returns a plan with each state, and with each note about a change.
func everyState() *report.Plan {
	created := []tasks.Field{{Name: "mode", After: "0644"}, {Name: "owner", After: "root:root"}}
	dir := item("file:/etc/cni", tasks.Create, tasks.Field{Name: "type", After: "directory"}, tasks.Field{Name: "mode", After: "0755"}, tasks.Field{Name: "owner", After: "root:root"})
	by := func(why, origin string) func(*report.Step) {
		return func(s *report.Step) { s.Why, s.Origin = why, origin }
	}
	p := &report.Plan{
		Cluster: "demo.example.com", Node: "node-1", NodeGroup: "nodes", Network: "bridge", Store: "/srv/netwright/demo.example.com",
		Generation: 7, Digest: "0123456789abcdef0123456789abcdef",
		Steps: []report.Step{
			planned("file:/etc/cni/net.d", tasks.Change{Items: []tasks.Item{dir, item("file:/etc/cni/net.d", tasks.Create, tasks.Field{Name: "type", After: "directory"}, tasks.Field{Name: "mode", After: "0755"})}, Reason: "absent"}),
			planned("file:/etc/sysctl.d/99-netwright.conf", tasks.Change{Items: []tasks.Item{contents("file:/etc/sysctl.d/99-netwright.conf", tasks.Create, "", lines(20), created...)}, Reason: "absent"}),
			planned("file:/etc/cni/extra", tasks.Change{Items: []tasks.Item{dir, contents("file:/etc/cni/extra", tasks.Create, "", "one\ntwo without an end", created...)}, Reason: "absent"}, by("the user", "cluster.yaml:30:5")),
			planned("file:/etc/default/kubelet", tasks.Change{
				Items: []tasks.Item{contents("file:/etc/default/kubelet", tasks.Update, "# kept\nKUBELET_EXTRA_ARGS=\n", "# kept\nKUBELET_EXTRA_ARGS=--pod-cidr=10.0.0.0/24\n",
					tasks.Field{Name: "content", Before: "sha256 aaaa, 28 bytes", After: "sha256 bbbb, 52 bytes"}, tasks.Field{Name: "mode", Before: "0600", After: "0644"})},
				Reason: "content and mode differ", Effects: []graph.Key{"effect:daemon-reload", "effect:restart kubelet.service"},
			}, by("bridge asks for it", "cluster.yaml:12:3")),
			planned("file:/srv/secret", tasks.Change{Items: []tasks.Item{contents("file:/srv/secret", tasks.Update, "old-password\n", "new-password\n", tasks.Field{Name: "content", Before: "secret", After: "another secret"})}, Reason: "content differs"}, by("a secret", "cluster.yaml:40:5")),
			planned("toml:/etc/x#token", tasks.Change{Items: []tasks.Item{item("toml:/etc/x#token", tasks.Update, tasks.Field{Name: "value", Before: "old-password", After: "new-password"})}, Reason: "value differs"}, by("a secret", "cluster.yaml:41:5")),
			planned("file:/srv/hostile", tasks.Change{Items: []tasks.Item{contents("file:/srv/hostile", tasks.Update, "\x1b[2Jgone\u202etxt\n", "plain\n")}, Reason: "content differs"}),
			planned("module:br_netfilter", tasks.Change{Items: []tasks.Item{item("module:br_netfilter", tasks.Run, tasks.Field{Before: "not loaded", After: "loaded"})}, Reason: "not loaded"}),
			planned("sysctl:net.ipv4.ip_forward", tasks.Change{Items: []tasks.Item{item("sysctl:net.ipv4.ip_forward", tasks.Update, tasks.Field{Name: "value", Before: "0", After: "1"})}, Reason: "value differs"}, by("required by bridge", "cluster.yaml:12:3"),
				func(s *report.Step) { s.Overrides = "0 from the node's default" }),
			planned("sysctl:net.ipv6.conf.all.forwarding", tasks.Change{Items: []tasks.Item{item("sysctl:net.ipv6.conf.all.forwarding", tasks.Update, tasks.Field{Name: "value", Before: "0", After: "1"})}, Reason: "value differs", Disruption: tasks.MayCutOff}),
			planned("sysctl:net.bridge.bridge-nf-call-iptables", tasks.Change{Items: []tasks.Item{item("sysctl:net.bridge.bridge-nf-call-iptables", tasks.Create, tasks.Field{Name: "value", After: "1"})}, Reason: "absent until module br_netfilter is loaded", Unknown: "until module br_netfilter is loaded"}),
			planned("unit:docker.service", tasks.Change{Items: []tasks.Item{item("unit:docker.service", tasks.Update, tasks.Field{Name: "active", Before: "active", After: "inactive"})}, Reason: "active differs", Disruption: tasks.RestartsUnit}),
			planned("route:254/10.9.0.0/24", tasks.Change{Items: []tasks.Item{item("route:254/10.9.0.0/24", tasks.Remove)}, Reason: "node-9 is gone"}),
			planned("effect:daemon-reload", tasks.Change{Items: []tasks.Item{item("effect:daemon-reload", tasks.Run)}, Reason: "asked for by file:/a, file:/b, file:/c, file:/d, file:/e"}),
			planned("effect:restart kubelet.service", tasks.Change{Items: []tasks.Item{item("effect:restart kubelet.service", tasks.Run)}, Reason: "asked for by file:/etc/default/kubelet", Disruption: tasks.RestartsUnit}),
			planned("effect:reload systemd-networkd.service", tasks.Change{Items: []tasks.Item{item("effect:reload systemd-networkd.service", tasks.Run)}, Reason: "asked for by file:/etc/systemd/network/cbr0.network"}),
			{Key: "file:/opt/cni/bin/bridge", State: report.Failed, Gate: "before kubelet", Why: "required by bridge", Origin: "cluster.yaml:12:3",
				Message: "fetch cni-plugins v1.9.1: none of its 2 URLs gave it:\n  assets/a.tgz: no such file\n  https://mirror/a.tgz: 503\nput it into the store, or mend assetsMirror"},
			{Key: "file:/etc/cni/net.d/10-netwright.conflist", State: report.Skipped, Gate: "before kubelet", Message: "skipped: needs file:/opt/cni/bin/bridge, which failed", Because: "file:/opt/cni/bin/bridge"},
			{Key: "await:pod-cidr", State: report.Waits, Gate: "after kubelet", Message: "the node's pod CIDR: no document names it and the API is not asked yet"},
			{Key: "conf:/etc/cni/net.d/10-netwright.conflist", State: report.Waits, Gate: "after kubelet", Message: "waiting for await:pod-cidr: the node's pod CIDR", Because: "await:pod-cidr"},
			{Key: "link:cbr0", State: report.Stopped, Gate: "before kubelet", Message: "cancelled before it started: interrupt"},
		},
		Notes: []report.Note{
			{Level: "info", Text: "nodeup manages this node too: its files stay"},
			{Level: "warning", Origin: "cluster.yaml:9:5", Text: "spec.networking.bridge.mtu is larger than the uplink's: packets are fragmented"},
		},
	}
	for _, key := range []string{"kernel.panic", "vm.overcommit_memory"} {
		s := planned("sysctl:"+key, tasks.Change{Items: []tasks.Item{item("sysctl:"+key, tasks.Update, tasks.Field{Name: "value", Before: "0", After: "10"})}, NotApplicable: "host-wide, not set here"})
		s.State, s.Message = report.NotApplicable, "host-wide, not set here"
		p.Steps = append(p.Steps, s)
	}
	p.Finish(60)
	return p
}

// converged returns the plan of the same node after a run that succeeded.
func converged() *report.Plan {
	p := everyState()
	var steps []report.Step
	for _, s := range p.Steps {
		if s.State == report.Planned {
			s.State = report.Done
			steps = append(steps, s)
		}
	}
	p.Steps, p.Notes = steps, nil
	p.Finish(60)
	return p
}

func TestGolden(t *testing.T) {
	nothing := everyState()
	nothing.Steps, nothing.Notes = nil, nil
	nothing.Finish(60)
	waiting := everyState()
	waiting.Steps, waiting.Notes = waiting.Steps[18:20], nil
	waiting.Finish(60)
	for name, c := range map[string]struct {
		plan *report.Plan
		opt  report.TextOptions
	}{
		"planned":           {everyState(), report.TextOptions{Diffs: true}},
		"planned-color":     {everyState(), report.TextOptions{Diffs: true, Color: true}},
		"planned-no-diffs":  {everyState(), report.TextOptions{}},
		"failed-quiet":      {everyState(), report.TextOptions{Brief: true}},
		"done":              {converged(), report.TextOptions{Diffs: true}},
		"done-quiet":        {converged(), report.TextOptions{Brief: true}},
		"nothing":           {nothing, report.TextOptions{Diffs: true}},
		"waiting-for-quiet": {waiting, report.TextOptions{Brief: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := report.Text(&out, c.plan, c.opt); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", out.Bytes())
			if strings.Contains(out.String(), "password") {
				t.Error("a secret is shown")
			}
			if !c.opt.Color && strings.Contains(out.String(), "\x1b") {
				t.Error("an escape sequence without colour")
			}
		})
	}
	t.Run("json", func(t *testing.T) {
		var out bytes.Buffer
		if err := report.JSON(&out, everyState()); err != nil {
			t.Fatal(err)
		}
		golden(t, "planned.json", out.Bytes())
		if strings.Contains(out.String(), "password") {
			t.Error("a secret is shown")
		}
		var back report.Plan
		if err := json.Unmarshal(out.Bytes(), &back); err != nil {
			t.Fatal(err)
		}
		want := everyState()
		want.Version = report.PlanVersion
		if diff := cmp.Diff(want, &back); diff != "" {
			t.Errorf("the plan from its JSON (-want +got):\n%s", diff)
		}
	})
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./pkg/report -update rewrites it):\n%s", file, diff)
	}
}

// TestKeysOfSeveralTasksCountOnce: each task lists the directories that are missing for it.
func TestKeysOfSeveralTasksCountOnce(t *testing.T) {
	p := everyState()
	count := 0
	for _, s := range p.Steps {
		for _, it := range s.Items {
			if it.Key == "file:/etc/cni" {
				count++
			}
		}
	}
	if count != 1 {
		t.Errorf("file:/etc/cni is in %d steps, want 1", count)
	}
	if s := p.Summary; s.Create != 5 || s.Tasks != 60 || s.Right != 60-len(p.Steps) {
		t.Errorf("got %+v", s)
	}
	if s := converged().Summary; s.Right != 60 {
		t.Errorf("what was made right does not count as right: %+v", s)
	}
}
