package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

// The status says what the agent does not prove, with and without a change that was proved. It does
// not report an undo of long ago. The lines that keep it: proof_and_undo.go, String and
// afterChange.
func TestTheAftermathOfChangesIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Status)
		says   string
		not    string
	}{
		"no change needed it": {func(s *report.Status) { s.Proof = &report.Proof{Missing: []string{"inbound"}} },
			"proved by      no change needed it yet; inbound: not proved\n", "generation 0"},
		"a change": {func(s *report.Status) {
			s.Proof = &report.Proof{At: before(time.Hour), Generation: 6, By: []string{"dns", "store"}, Missing: []string{"inbound", "pods"}}
		}, "proved by      dns, store; inbound: not proved, pods: not proved (generation 6, 60m ago)\n", "undone"},
		"nothing answered":  {func(s *report.Status) { s.Proof = &report.Proof{At: noon, Generation: 6} }, "proved by      nothing: no probe passed before the change (generation 6, 0s ago)\n", "not proved"},
		"no status of ours": {func(*report.Status) {}, "certificates", "proved by"},
		"an undo": {func(s *report.Status) {
			s.Undone = []report.Undone{{At: before(time.Minute), Generation: 5, Why: "no answer"}}
		}, "undone         60s ago, generation 5: no answer\n", "proved by"},
		"an undo of last week": {func(s *report.Status) { s.Undone = []report.Undone{{At: before(170 * time.Hour)}} }, "certificates", "undone"},
		"a watch": {func(s *report.Status) { s.Watched = &report.Watched{Generation: 5, Until: noon.Add(3 * time.Minute)} },
			"watched        for 3m more: generation 5 started a hook, and is undone if it costs the node gateway and store\n", "proved by"},
		"a watch that is over": {func(s *report.Status) { s.Watched = &report.Watched{Until: noon} }, "certificates", "watched"},
		"files that await a boot": {func(s *report.Status) {
			s.AwaitingBoot, s.AwaitingBootSince = []string{"/etc/a"}, before(72*time.Hour)
		}, "awaiting boot: /etc/a, for 3d\n", "undone"},
	} {
		s := rightStatus()
		c.change(s)
		var out strings.Builder
		if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.says) || strings.Contains(out.String(), c.not) {
			t.Errorf("%s: want %q, and not %q:\n%s", name, c.says, c.not, out.String())
		}
	}
}

// A long text, such as that of a download with its URLs, is once in a status: the first line names
// only the key.
func TestALongTextIsSaidOnce(t *testing.T) {
	const key, url = "file:/opt/cni/bin/bridge", "https://mirror.example.com/plugins/cni-plugins-linux-amd64-v1.9.1.tgz"
	for _, means := range []string{"", ": pods of the network cannot be run"} {
		s := rightStatus()
		k := report.KeyStatus{Key: key, State: report.KeyFailing, Since: noon, Text: "install cni-plugins: no URL gave the right archive:\nget asset " + url + ": connection refused"}
		s.State, s.Reason, s.Keys = report.NodeFailing, key+means+": "+k.Text, []report.KeyStatus{k}
		var out strings.Builder
		if err := report.StatusText(&out, report.StatusView{Status: s, Daemon: served}, report.StatusOptions{Now: noon}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Count(got, url) != 1 || !strings.Contains(got, "\nfailing: "+key+means+"\n") {
			t.Errorf("String returns %s", got)
		}
	}
}
