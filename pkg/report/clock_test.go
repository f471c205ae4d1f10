package report_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/clock"
)

// What the daemon noted before somebody set the clock has the age that it has, by the clock before
// and after: in the process that noted it, and for a reader of its file. The lines that keep it:
// clock.go.
func TestAgesWhereTheClockIsSet(t *testing.T) {
	for _, step := range []time.Duration{0, 50 * 365 * 24 * time.Hour, -30 * time.Hour} {
		began := clock.NotedBefore(time.Now().Add(-10*time.Minute), step)
		s := &report.Status{At: began, Up: 1000, Agent: report.Agent{Started: began}, State: report.NodeFailing,
			Configuration: report.Configuration{Digest: "d", Checked: began, Silent: began},
			Keys:          []report.KeyStatus{{Key: "sysctl:a", State: report.KeyFailing, Since: began}},
			Services:      []report.Service{{Name: "kubelet", Since: began}},
			Working:       &report.Working{Activity: "a pass", Since: began},
			Last:          &report.LastPass{Began: began}, Next: began.Add(11*time.Minute + 30*time.Second)}
		file, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		read := &report.Status{}
		if err := json.Unmarshal(file, read); err != nil {
			t.Fatal(err)
		}
		for what, seen := range map[string]*report.Status{
			"of the process": s.ByClock(), "of the file": read.ReadAt(time.Now(), 1600*time.Second),
		} {
			var text strings.Builder
			err := report.StatusText(&text, report.StatusView{Status: seen, Daemon: report.Daemon{Running: true}},
				report.StatusOptions{Now: time.Now().Round(0)})
			if n := strings.Count(text.String(), "10m"); err != nil || n != 7 {
				t.Errorf("%s, clock set by %s: %d ages of seven are right (%v):\n%s", what, step, n, err, text.String())
			}
		}
		if s.Keys[0].Since != began || s.Working.Since != began || s.Last.Began != began {
			t.Error("the status itself changed")
		}
	}
}

// A time by a clock that is ahead is written as it is: nothing was published minus three hours ago.
// The line that keeps it: status_lines.go, ago.
func TestTimesOfAnotherClock(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	ahead := now.Add(3 * time.Hour)
	s := &report.Status{At: now, AwaitingBoot: []string{"file:/etc/a"}, AwaitingBootSince: ahead,
		Configuration: report.Configuration{Digest: "d", LastGood: ahead, Published: &report.Generation{Number: 7, At: ahead, By: "ada"}},
		Proof:         &report.Proof{At: ahead}, Undone: []report.Undone{{At: ahead}}}
	var text strings.Builder
	if err := report.StatusText(&text, report.StatusView{Status: s}, report.StatusOptions{Now: now}); err != nil {
		t.Fatal(err)
	}
	const stamp = "at 2026-07-01T15:00:00Z, which this clock has not reached"
	if n := strings.Count(text.String(), stamp); n != 4 || strings.Contains(text.String(), "for 0s\n") {
		t.Errorf("%d times of four are written as they are:\n%s", n, text.String())
	}
}
