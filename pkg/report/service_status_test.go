package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

// A service that pods need and that does not work is reported first, and once as an Event. So is
// its recovery. What pods lack without a key is reported with the key, and the publisher with the
// generation. The lines that keep it: service_status.go; status_keys.go, key; status_text.go,
// configuration.
func TestWhatPodsLackIsTold(t *testing.T) {
	s := rightStatus()
	s.State, s.Reason = report.NodeCritical, "kubelet does not work: it is stopped"
	s.Services = []report.Service{{Name: "containerd", Unit: "containerd.service", Works: true}, {Name: "kubelet", Unit: "kubelet.service", Since: before(3 * time.Minute), Text: "it is stopped"}}
	s.Keys = []report.KeyStatus{{Key: "sysctl:net.ipv4.ip_forward", State: report.KeyFailing, Since: before(time.Minute), Text: "read-only", Pods: true, Means: "forwarding is off"}}
	s.Configuration.Published = &report.Generation{Number: 7, At: before(time.Hour), By: "alice, commit 1f2e3d"}
	var out strings.Builder
	if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\ncritical: kubelet does not work: it is stopped\n✗ kubelet does not work, for 3m: it is stopped\n  → `journalctl -u kubelet.service` says why", "failing for 60s: read-only\n      forwarding is off\n",
		"\n  generation 7 was published 60m ago by alice, commit 1f2e3d\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, out.String())
		}
	}

	// A long text is printed once.
	long := strings.Repeat("its last log lines ", 9)
	s.Reason, s.Services[1].Text = "kubelet does not work: "+long, long
	out.Reset()
	if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\ncritical: kubelet does not work\n✗ kubelet does not work, for 3m: its last log") {
		t.Errorf("the long text is printed twice:\n%s", out.String())
	}
	s.Reason, s.Services[1].Text = "kubelet does not work: it is stopped", "it is stopped"

	up := rightStatus()
	up.Services = []report.Service{{Name: "kubelet", Works: true}}
	told := func(events []report.Event) (out []string) {
		for _, e := range events {
			if strings.Contains(e.Text, "kubelet") {
				out = append(out, string(e.Kind)+": "+e.Text)
			}
		}
		return out
	}
	for _, c := range []struct {
		before, after *report.Status
		want          string
	}{{up, s, "failed: kubelet does not work: it is stopped"}, {s, s, ""}, {s, up, "right again: kubelet works"}, {nil, up, ""}} {
		if got := strings.Join(told(report.Events(c.before, c.after, nil)), "; "); got != c.want {
			t.Errorf("got the events %q, want %q", got, c.want)
		}
	}
}
