package report_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/report"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return noon.Add(-d) }

// rightStatus returns the status of a node on which all is right.
func rightStatus() *report.Status {
	return &report.Status{
		Version: report.StatusVersion, At: before(4 * time.Second), State: report.NodeConverged, Prepared: true,
		Agent: report.Agent{Version: "v1.2.3", PID: 812, Started: before(50 * time.Hour)},
		Node:  "node-1", Cluster: "demo.example.com", NodeGroup: "nodes", Network: "bridge",
		Configuration: report.Configuration{Store: "s3://conf/demo.example.com", Generation: 7, Digest: strings.Repeat("0123456789abcdef", 4), Checked: before(90 * time.Second), Since: before(49 * time.Hour)},
		Kinds: []report.KindStatus{
			{Kind: "file", Tasks: 21, Right: 21, Changed: 21}, {Kind: "module", Tasks: 2, Right: 2}, {Kind: "sysctl", Tasks: 30, Right: 28, NotApplicable: 2, Repaired: 3},
		},
		Keys:         []report.KeyStatus{{Key: "sysctl:vm.overcommit_memory", State: report.KeyNotApplicable, Since: before(time.Hour)}, {Key: "sysctl:net.ipv4.ip_forward", State: report.KeyRepaired, Since: before(40 * time.Second), Text: "value differs"}},
		Certificates: []report.Certificate{{Name: "cilium-etcd", State: "right", NotAfter: noon.AddDate(0, 6, 0), RenewAt: noon.AddDate(0, 4, 0)}, {Name: "cilium-etcd", CA: true, State: "right", NotAfter: noon.AddDate(9, 0, 0)}},
		Totals:       report.Totals{Passes: 301, Changes: 21, Repairs: 3},
		Last: &report.LastPass{Cause: "the host changed: sysctls", Began: before(40 * time.Second), Took: 0.1213, Repairs: 1,
			Phases: []report.Phase{{Name: "facts", Took: 0.0401}, {Name: "plan", Took: 0.02}, {Name: "apply", Took: 0.0004}}},
		Next: noon.Add(8 * time.Minute),
	}
}

// wrongStatus returns the status of a node with everything that can be reported.
func wrongStatus() *report.Status {
	s := rightStatus()
	s.State, s.Reason, s.Prepared = report.NodeFailing, "file:/opt/cni/bin/bridge: the archive has another sha256 than spec.assets names: check the mirror", false
	s.Configuration.LastGood, s.Configuration.Checked = before(26*time.Hour), time.Time{}
	s.Configuration.Error = "state store s3://conf/demo.example.com: get manifest: connection refused: is the store up?"
	s.Configuration.Expires = noon.Add(30 * time.Hour)
	s.Waiting = &report.Waiting{Generation: 8, Digest: strings.Repeat("fedcba9876543210", 4), Class: "restart", Reason: "spec.update.window has no time before 02:00", Until: noon.Add(14 * time.Hour)}
	s.Pinned, s.Paused = "held at revision 3 by root", &report.Paused{Until: noon.Add(25 * time.Minute), Reason: "we look at the switch", By: "alice"}
	s.Awaits = &report.Awaits{Generation: 7, Until: noon.Add(90 * time.Second), By: "ada", Revision: 4}
	s.AwaitingBoot, s.AwaitingBootSince = []string{"/etc/netplan/50-a.yaml", "/etc/hosts"}, before(72*time.Hour)
	s.Proof = &report.Proof{At: before(2 * time.Hour), Generation: 6, By: []string{"neighbour", "ping", "store"}, Missing: []string{"dns", "inbound", "pods"}}
	s.Watched = &report.Watched{Generation: 7, Until: noon.Add(4 * time.Minute)}
	s.Undone = []report.Undone{
		{At: before(20 * time.Minute), Cause: report.UndoneFailed, Generation: 5, Why: "neighbour:eth0/10.0.0.1 (no answer)"},
		{At: before(50 * time.Hour), Cause: report.UndoneBoot, Generation: 2, Why: "address:eth0/10.0.0.2/24 (no link that is up has this address)"},
	}
	s.Working = &report.Working{Activity: "asked: once by bob", Since: before(7 * time.Second), Changes: 12}
	s.Kinds = []report.KindStatus{{Kind: "conf", Tasks: 1, Waiting: 1}, {Kind: "file", Tasks: 21, Right: 18, Failing: 1, Skipped: 2}, {Kind: "sysctl", Tasks: 30, Right: 26, NotApplicable: 2, Contested: 1, Drifted: 1, Repaired: 9}}
	s.Keys = []report.KeyStatus{
		{Key: "conf:/etc/cni/net.d/10-bridge.conflist", State: report.KeyWaiting, Since: before(3 * time.Minute), Text: "waiting for the node's pod CIDRs", Origin: "cluster.yaml:12:3"},
		{Key: "file:/opt/cni/bin/bridge", State: report.KeyFailing, Since: before(3 * time.Minute), Text: "the archive has another sha256 than spec.assets names: check the mirror\nit is aaaa and should be bbbb", Origin: "cluster.yaml:40:5"},
		{Key: "file:/opt/cni/bin/loopback", State: report.KeySkipped, Since: before(3 * time.Minute), Because: "file:/opt/cni/bin/bridge"},
		{Key: "file:/opt/cni/bin/host-local", State: report.KeySkipped, Since: before(3 * time.Minute), Because: "file:/opt/cni/bin/bridge"},
		{Key: "file:/etc/hosts", State: report.KeyFailing, Since: before(time.Hour), Text: "the first boot with it failed (no address), and it was brought back", Origin: "cluster.yaml:60:5", Refused: report.RefusedByBoot},
		{Key: "file:/etc/passwd", State: report.KeyFailing, Since: before(time.Hour), Text: "refused: the host's accounts and logins: no document writes or switches that (cluster.yaml:50:5)", Origin: "cluster.yaml:50:5", Refused: report.RefusedByRule},
		{Key: "sysctl:net.ipv4.conf.all.rp_filter", State: report.KeyContested, Since: before(90 * time.Minute), Count: 5, Writer: "/etc/sysctl.d/99-\x1b[2Jhostile.conf", Text: "1 → 0"},
		{Key: "sysctl:net.ipv4.ip_forward", State: report.KeyDrifted, Since: before(10 * time.Minute), Text: "0, and 1 is wanted"},
	}
	s.PendingEffects = []string{"effect:restart containerd.service"}
	s.Notes = []report.Note{{Level: "warning", Text: "firewalld runs", Origin: "host"}}
	s.Certificates = append(s.Certificates, report.Certificate{Name: "calico-node", State: "expired", NotAfter: before(time.Hour), Problem: "it expired an hour ago: issue it again"})
	s.Totals = report.Totals{Passes: 1, Failed: 1, Rollbacks: 1}
	s.Last.Error, s.Next = "1 of 52 tasks failed", before(time.Second)
	return s
}

// hungStatus returns the status of a daemon whose first pass hangs. The daemon knows the applied
// generation from before.
func hungStatus() *report.Status {
	s := startingStatus()
	s.Configuration.Generation, s.Configuration.Digest = 7, strings.Repeat("0123456789abcdef", 4)
	s.Hangs = &report.Hanging{At: "a pass of its own: apply file:/mnt/a", Since: before(6 * time.Minute)}
	s.State, s.Reason = report.NodeFailing, s.Hangs.String()
	return s
}

func startingStatus() *report.Status {
	return &report.Status{
		Version: report.StatusVersion, At: noon, State: report.NodeStarting, Agent: report.Agent{Version: "v1.2.3", PID: 812, Started: before(time.Second)}, Node: "node-1",
		Configuration: report.Configuration{Store: "/srv/netwright"}, Kinds: []report.KindStatus{}, Keys: []report.KeyStatus{},
	}
}

var (
	served = report.Daemon{Running: true, From: "socket"}
	dead   = report.Daemon{
		From: "/run/netwright/status.json", Why: "netwright-agent.service failed 3m ago (exit-code)", Do: "journalctl -u netwright-agent -e",
		Off: []string{"/etc/netwright/disabled is there: remove it (rm /etc/netwright/disabled) for the daemon to start at the next boot"},
	}
)

func TestStatusGolden(t *testing.T) {
	for name, c := range map[string]struct {
		view  report.StatusView
		opt   report.StatusOptions
		means report.Verdict
	}{
		"status-right":        {report.StatusView{Status: rightStatus(), Daemon: served}, report.StatusOptions{Width: 100}, report.Right},
		"status-wrong":        {report.StatusView{Status: wrongStatus(), Daemon: served}, report.StatusOptions{Width: 100}, report.Wrong},
		"status-wrong-color":  {report.StatusView{Status: wrongStatus(), Daemon: served}, report.StatusOptions{Width: 100, Color: true}, report.Wrong},
		"status-wrong-narrow": {report.StatusView{Status: wrongStatus(), Daemon: served}, report.StatusOptions{Width: 40}, report.Wrong},
		"status-wrong-piped":  {report.StatusView{Status: wrongStatus(), Daemon: served}, report.StatusOptions{}, report.Wrong},
		"status-starting":     {report.StatusView{Status: startingStatus(), Daemon: served}, report.StatusOptions{Width: 80}, report.Awaited},
		"status-hung":         {report.StatusView{Status: hungStatus(), Daemon: served}, report.StatusOptions{Width: 100}, report.Wrong},
		"status-dead":         {report.StatusView{Status: rightStatus(), Daemon: dead}, report.StatusOptions{Width: 80}, report.NotRunning},
		"status-none":         {report.StatusView{Daemon: dead}, report.StatusOptions{Width: 80}, report.NotRunning},
	} {
		t.Run(name, func(t *testing.T) {
			c.opt.Now = noon
			var out bytes.Buffer
			if err := report.StatusText(&out, c.view, c.opt); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", out.Bytes())
			if !c.opt.Color && strings.Contains(out.String(), "\x1b") {
				t.Error("an escape sequence without colour")
			}
			if got := c.view.Verdict(); got != c.means {
				t.Errorf("the verdict is %s, want %s", got, c.means)
			}
		})
	}
}

// An expired certificate is not right, although every key is. One that nobody wants any more has no
// problem.
func TestAnExpiredCertificateIsNotRight(t *testing.T) {
	for problem, want := range map[string]report.Verdict{"the agent cannot renew it": report.Wrong, "": report.Right} {
		s := rightStatus()
		s.Certificates = []report.Certificate{{Name: "own", State: "expired", Problem: problem}}
		if got := (report.StatusView{Status: s, Daemon: served}).Verdict(); got != want {
			t.Errorf("with the problem %q the verdict is %s, want %s", problem, got, want)
		}
	}
}

// A long reason is in the first lines, and each thing with the same reason refers to it.
func TestReasonIsSaidOnce(t *testing.T) {
	s, why := rightStatus(), "ping:10.77.0.1 ("+strings.Repeat("no answer; ", 20)+")"
	s.State, s.Reason = report.NodeFailing, "generation 8 is bad: probe "+why+" failed after the change, and the change was undone"
	s.Waiting = &report.Waiting{Generation: 8, Digest: "0123", Reason: s.Reason}
	s.Notes = []report.Note{{Level: "warning", Text: s.Reason}}
	s.Undone = []report.Undone{{At: before(time.Minute), Generation: 8, Why: why}}
	s.Last.Error, s.Configuration.Error = s.Reason, s.Reason
	var out bytes.Buffer
	if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), why); n != 1 {
		t.Errorf("the reason stands there %d times:\n%s", n, out.String())
	}
	s.Waiting.Until, s.Waiting.Reason = noon, "its turn is at 2026-03-01T12:00:00Z"
	if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"generation 8, 0123, waits: its turn is at 2026-03-01T12:00:00Z\n", "generation 8, 0123, waits: as said above\n", "undone         60s ago, generation 8: as said above\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// The status of a node says what holds there, says it once, and says what to do.
func TestStatusSays(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*report.Status)
		says, silent []string
	}{
		"the store is away, and nothing is applied": {func(s *report.Status) {
			s.Configuration = report.Configuration{Store: "s3://conf", Silent: before(100 * time.Second)}
		}, []string{"not read for 100s, and no configuration was applied here"}, []string{"READY"}},
		"a generation waits": {func(s *report.Status) {
			s.Waiting = &report.Waiting{Generation: 8, Digest: "0123", Class: "reload", Reason: "spec.update.percent is 1"}
			s.Notes = []report.Note{{Level: "warning", Text: "generation 8 (0123) waits, and this one stays in force: spec.update.percent is 1"}}
		}, []string{"generation 8, 0123, waits (reload): spec.update.percent is 1\n"}, []string{"warning: "}},
		"a key waits for its next repair": {func(s *report.Status) {
			s.Keys = []report.KeyStatus{{Key: "sysctl:net.ipv4.tcp_tw_reuse", State: report.KeyWaiting, Since: before(6 * time.Second), Count: 3,
				Writer: "/etc/sysctl.d/99-zz.conf", Text: "its next repair at 12:01: somebody changed it back"}}
		}, []string{"for 6s: its next repair at 12:01: somebody changed it back; the other writer is /etc/sysctl.d/99-zz.conf\n",
			"→ stop the other writer, or leave the key to it: spec.drift.sysctl: ignore"}, []string{"repaired 3 times"}},
	} {
		s := rightStatus()
		s.Keys, s.Last = nil, nil
		c.change(s)
		var out bytes.Buffer
		if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out.String())
			}
		}
		for _, bad := range c.silent {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%s: %q in\n%s", name, bad, out.String())
			}
		}
	}
}

// The day in the status is the one on which the next certificate is renewed, or on which a
// certificate ends that nobody renews.
func TestNextCertificate(t *testing.T) {
	week, year := noon.AddDate(0, 0, 7), noon.AddDate(1, 0, 0)
	for want, list := range map[string][]report.Certificate{
		"certificates   2 of 2 well, the next one to renew on 2026-03-08T12:00:00Z\n": {{Name: "a", NotAfter: year, RenewAt: week}, {Name: "a", CA: true, NotAfter: year}},
		"certificates   2 of 2 well, the next one ends on 2026-03-08T12:00:00Z\n":     {{Name: "a", NotAfter: year, RenewAt: year.AddDate(0, -1, 0)}, {Name: "b", NotAfter: week}},
	} {
		s := rightStatus()
		s.Certificates = list
		var out bytes.Buffer
		if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// A program gets the fields of the status itself, and who reported it.
func TestStatusViewJSON(t *testing.T) {
	var out bytes.Buffer
	if err := report.JSON(&out, report.StatusView{Status: wrongStatus(), Daemon: served}); err != nil {
		t.Fatal(err)
	}
	golden(t, "status-wrong.json", out.Bytes())
	var back report.StatusView
	if err := json.Unmarshal(out.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.StatusView{Status: wrongStatus(), Daemon: served}, back); diff != "" {
		t.Errorf("the status from its JSON (-want +got):\n%s", diff)
	}
}

func TestDigest(t *testing.T) {
	later := rightStatus()
	later.At, later.Next, later.Configuration.Checked, later.Totals.Passes = noon, noon, noon, 400
	later.Wakes, later.Last, later.Working = map[string]int64{"files": 9}, &report.LastPass{Cause: "interval"}, &report.Working{Activity: "interval"}
	if rightStatus().Digest() != later.Digest() {
		t.Error("a pass that changed nothing is told")
	}
	for name, change := range map[string]func(*report.Status){
		"state": func(s *report.Status) { s.State = report.NodePaused }, "reason": func(s *report.Status) { s.Reason = "x" },
		"a repair": func(s *report.Status) { s.Totals.Repairs++ }, "a key": func(s *report.Status) { s.Keys = s.Keys[1:] },
		"work": func(s *report.Status) { s.Working = &report.Working{Activity: "drift", Changes: 1} },
	} {
		s := rightStatus()
		change(s)
		if s.Digest() == rightStatus().Digest() {
			t.Errorf("%s makes no difference", name)
		}
	}
}

func TestLines(t *testing.T) {
	if got, want := wrongStatus().Line(), "node-1: failing: file:/opt/cni/bin/bridge: the archive has another sha256 than spec.assets names: check the mirror; 44 of 50 right; generation 7"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	e := report.Event{At: noon, Kind: report.EventRepaired, Key: "sysctl:net.ipv4.ip_forward", Text: "value\x1b[2J differs"}
	if got, want := e.Line(), `2026-03-01T12:00:00Z repaired sysctl:net.ipv4.ip_forward: value\x1b[2J differs`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
