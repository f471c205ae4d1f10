package metrics

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/netwright/netwright/pkg/report"
)

var update = flag.Bool("update", false, "write testdata/metrics.txt")

var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// full returns a status with a value in every field that a metric shows.
func full() *report.Status {
	return &report.Status{
		At: at, State: report.NodeContested, Node: "node-1", Cluster: "k8s.example.com", NodeGroup: "nodes", Network: "bridge", Prepared: true,
		Configuration: report.Configuration{Generation: 12, Digest: "ab", Published: &report.Generation{Number: 14, At: at.Add(-time.Hour)}, Wanted: &report.Generation{Number: 13}, Applied: &report.Generation{Number: 12}, Checked: at.Add(-time.Minute), Expires: at.Add(24 * time.Hour)},
		Waiting:       &report.Waiting{Generation: 13, Class: "restart"},
		Pinned:        "held at revision 3 by root", Paused: &report.Paused{Until: at.Add(time.Hour)},
		Awaits: &report.Awaits{Generation: 13}, AwaitingBoot: []string{"/etc/hosts"}, AwaitingBootSince: at.Add(-48 * time.Hour),
		Proof:   &report.Proof{At: at, Generation: 12, By: []string{"neighbour", "store"}, Missing: []string{"dns", "inbound"}},
		Watched: &report.Watched{Generation: 12, Until: at.Add(time.Minute)},
		Undone: []report.Undone{
			{At: at.Add(-time.Hour), Cause: report.UndoneBoot, Generation: 11}, {At: at.Add(-2 * time.Hour), Cause: report.UndoneFailed, Generation: 10},
		},
		Keys: []report.KeyStatus{
			{Key: "file:/etc/passwd", State: report.KeyFailing, Refused: report.RefusedByRule},
			{Key: "file:/etc/hosts", State: report.KeyFailing, Refused: report.RefusedByBoot}, {Key: "file:/etc/other", State: report.KeyFailing},
		},
		Kinds: []report.KindStatus{
			{Kind: "file", Tasks: 5, Right: 4, Failing: 1, Repaired: 2, Changed: 7},
			{Kind: "sysctl", Tasks: 9, Right: 3, Waiting: 1, Skipped: 1, NotApplicable: 2, Contested: 1, Drifted: 1, Repaired: 6},
		},
		Services:       []report.Service{{Name: "containerd", Works: true}, {Name: "kubelet"}},
		PendingEffects: []string{"effect:restart-containerd"},
		Certificates: []report.Certificate{
			{Name: "kubelet-server", State: "in place", NotAfter: at.Add(48 * time.Hour), RenewAt: at.Add(24 * time.Hour)},
			{Name: "etcd-ca", CA: true, State: "expired", NotAfter: at.Add(-time.Hour), Problem: "it has expired"},
		},
		Totals: report.Totals{Passes: 10, Failed: 3, Repairs: 8, Changes: 7, Rollbacks: 1},
		Wakes:  map[string]int64{"files": 4, "netlink": 2},
		Last:   &report.LastPass{Began: at.Add(-time.Minute), Took: 0.2, Phases: []report.Phase{{Name: "plan", Took: 0.02}, {Name: "apply", Took: 0.18}}, Error: "one failed"},
		Next:   at.Add(10 * time.Minute),
		Hangs:  &report.Hanging{At: "a pass of its own: plan", Since: at},
	}
}

func requests() (map[string]int64, int64) {
	return map[string]int64{"read": 2, "not_modified": 40, "failed": 1}, 12345
}

// scrape returns the answer to a scraper, without the metrics of the process.
func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("w.Code %d, w.Body %s", w.Code, w.Body)
	}
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(w.Body.String(), "\n"), func(line string) bool { return !strings.Contains(line, prefix) }), "")
}

func TestMetrics(t *testing.T) {
	m := New("v1.2.3", requests)
	happened := []report.Event{
		{Kind: report.EventRepaired, Key: "sysctl:net.ipv4.ip_forward"}, {Kind: report.EventRepaired, Key: "sysctl:net.ipv4.conf.all.rp_filter"},
		{Kind: report.EventDrifted, Key: "file:/etc/cni/net.d/10-x.conf"}, {Kind: report.EventContested, Key: "sysctl:net.ipv4.ip_forward"}, {Kind: report.EventRolledBack},
	}
	m.Observe(full(), happened)
	m.Observe(full(), nil)                                            // the same pass again, as after a certificate was issued
	got := strings.ReplaceAll(scrape(t, m), runtime.Version(), "go1") // another Go changes nothing
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the metrics (-want +got):\n%s", diff)
	}
	problems, err := promlint.New(strings.NewReader(got)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Before there is a status, and with an empty one, a scrape succeeds.
func TestNothingToTell(t *testing.T) {
	m := New("v1", nil)
	if got := scrape(t, m); !strings.Contains(got, "netwright_build_info{") || strings.Contains(got, "netwright_tasks") {
		t.Errorf("before the first status:\n%s", got)
	}
	m.Observe(&report.Status{}, nil)
	if got := scrape(t, m); strings.Contains(got, "_timestamp_seconds{") || strings.Contains(got, "-6.79") {
		t.Errorf("a time that is not known is shown:\n%s", got)
	}
}

// Names that others choose add no series. A value that cannot be shown hides no other.
func TestBounded(t *testing.T) {
	m := New("v1", nil)
	m.Observe(full(), nil)
	before := strings.Count(scrape(t, m), "\n")
	s := full()
	for i := range 500 {
		s.Keys = append(s.Keys, report.KeyStatus{Key: fmt.Sprintf("sysctl:%d", i), State: report.KeyContested, Writer: fmt.Sprint(i)})
		s.Last.Phases = append(s.Last.Phases, report.Phase{Name: fmt.Sprint(i)})
	}
	s.Last.Began = at
	m.Observe(s, []report.Event{{Kind: "unheard of"}, {Kind: report.EventRepaired, Key: "sysctl:1"}})
	if after := strings.Count(scrape(t, m), "\n"); after > before+maxPhases*(len(bounds)+3) {
		t.Errorf("%d lines of 500 keys and phases, %d before", after, before)
	}
	twice := full()
	twice.Certificates = append(twice.Certificates, twice.Certificates[0])
	twice.PendingEffects = nil
	m.Observe(twice, nil)
	if got := scrape(t, m); !strings.Contains(got, "netwright_owed_effects 0") {
		t.Errorf("two certificates of one name hide the rest:\n%s", got)
	}
}

// TestScrapeAllocates: what a scrape allocates is added to the memory of an idle daemon.
func TestScrapeAllocates(t *testing.T) {
	const scrapes, most = 20, 220_000 // 117 kB, and 197 to 200 with the race detector
	m := New("v1.2.3", requests)
	m.Observe(full(), nil)
	scrape(t, m) // makes what is made once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range scrapes {
		m.page()
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / scrapes; bytes > most {
		t.Errorf("a scrape allocates %d bytes, over %d", bytes, most)
	} else {
		t.Logf("a scrape allocates %d bytes", bytes)
	}
}
