package report_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/report"
)

func TestEvents(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fails := report.KeyStatus{Key: "file:/a", State: report.KeyFailing, Text: "disk full"}
	follows := report.KeyStatus{Key: "unit:b", State: report.KeySkipped, Because: "file:/a"}
	fought := report.KeyStatus{Key: "sysctl:x", State: report.KeyContested, Text: "changed 5 times", Writer: "tuned.service"}
	for _, c := range []struct {
		name          string
		before, after report.Status
		done          *report.Plan
		want          []report.Event
	}{
		{"nothing", report.Status{}, report.Status{}, nil, nil},
		{"a change and a repair", report.Status{}, report.Status{}, &report.Plan{Steps: []report.Step{
			{Key: "file:/a", State: report.Done, Reason: "absent"}, {Key: "sysctl:x", State: report.Done, Repair: true, Reason: "value differs"}, {Key: "link:z", State: report.Waits},
		}}, []report.Event{{At: at, Kind: report.EventChanged, Key: "file:/a", Text: "absent"}, {At: at, Kind: report.EventRepaired, Key: "sysctl:x", Text: "value differs"}}},
		{"a repair of a task's second key", report.Status{}, report.Status{}, &report.Plan{Steps: []report.Step{
			{Key: "file:/a", State: report.Done, Repair: true, Reason: "absent", Items: []report.Item{{Key: "file:/b"}, {Key: "file:/c"}}}, {Key: "file:/d", State: report.Done, Reason: "absent", Items: []report.Item{{Key: "file:/d"}, {Key: "file:/e"}}},
		}}, []report.Event{{At: at, Kind: report.EventRepaired, Key: "file:/a", Text: "absent: file:/b, file:/c"}, {At: at, Kind: report.EventChanged, Key: "file:/d", Text: "absent"}}},
		{"a key begins to fail, and a key that needs it gets no event", report.Status{}, report.Status{Keys: []report.KeyStatus{fails, follows}}, nil,
			[]report.Event{{At: at, Kind: report.EventFailed, Key: "file:/a", Text: "disk full"}}},
		{"a key still fails", report.Status{Keys: []report.KeyStatus{fails}}, report.Status{Keys: []report.KeyStatus{fails}}, nil, nil},
		{"a key does not fail any more", report.Status{Keys: []report.KeyStatus{fails}}, report.Status{}, nil, []report.Event{{At: at, Kind: report.EventRight, Key: "file:/a", Text: "was failing"}}},
		{"a key was repaired before", report.Status{Keys: []report.KeyStatus{{Key: "file:/a", State: report.KeyRepaired}}}, report.Status{}, nil, nil},
		{"contested", report.Status{}, report.Status{Keys: []report.KeyStatus{fought}}, nil,
			[]report.Event{{At: at, Kind: report.EventContested, Key: "sysctl:x", Text: "changed 5 times; the other writer is tuned.service"}}},
		{"a configuration waits, and is taken", report.Status{Configuration: report.Configuration{Generation: 2, Digest: "aaa"}, Waiting: &report.Waiting{Generation: 3, Digest: "abc", Class: "restart", Reason: "auto is reload"}},
			report.Status{Configuration: report.Configuration{Generation: 3, Digest: "abc"}}, nil,
			[]report.Event{{At: at, Kind: report.EventConfigured, Text: "generation 3 (abc) is in force"}}},
		{"the first status of an agent", report.Status{}, report.Status{Configuration: report.Configuration{Generation: 3, Digest: "abc"}}, nil, nil},
		{"paused", report.Status{}, report.Status{Paused: &report.Paused{Until: at.Add(time.Hour), By: "alice", Reason: "a new switch"}}, nil,
			[]report.Event{{At: at, Kind: report.EventPaused, Text: "until 2026-01-02T04:04:05Z by alice: a new switch"}}},
		{"another process undid a change", report.Status{}, report.Status{
			State: report.NodeConverged, Totals: report.Totals{Rollbacks: 1}, Undone: []report.Undone{{Generation: 3, Why: "no answer"}},
		}, nil, []report.Event{{At: at, Kind: report.EventRolledBack, Text: "generation 3: no answer"}}},
		{"the pass undid a change", report.Status{}, report.Status{
			State: report.NodeFailing, Reason: "generation 3 is bad", Totals: report.Totals{Rollbacks: 1}, Undone: []report.Undone{{Generation: 3, Why: "no answer"}},
		}, nil, []report.Event{{At: at, Kind: report.EventRolledBack, Text: "generation 3 is bad"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.after.At = at
			if diff := cmp.Diff(c.want, report.Events(&c.before, &c.after, c.done)); diff != "" {
				t.Errorf("the events (-want +got):\n%s", diff)
			}
		})
	}
}
