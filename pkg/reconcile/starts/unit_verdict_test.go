package starts

import (
	"testing"

	"github.com/netwright/netwright/pkg/host/systemd"
)

func TestJudgeUnit(t *testing.T) {
	const second = 1_000_000
	for _, test := range []struct {
		name  string
		unit  systemd.UnitState
		kind  string
		ready bool
		want  Verdict
	}{
		{"gone", systemd.UnitState{Load: "not-found"}, "", true, NoVerdict},
		{"not restarted yet", systemd.UnitState{Active: "active", Invocation: "old"}, "notify", true, Queued},
		{"ready", systemd.UnitState{Active: "active", Invocation: "new", ActiveSinceUS: 100 * second}, "notify", true, IsUp},
		{"started just now, and does not say when it is ready", systemd.UnitState{Active: "active", Invocation: "new", ActiveSinceUS: 99 * second}, "simple", true, Starting},
		{"runs for a while", systemd.UnitState{Active: "active", Invocation: "new", ActiveSinceUS: 97 * second}, "simple", true, IsUp},
		{"starts", systemd.UnitState{Active: "activating", Sub: "start", Invocation: "new", Job: true, JobState: "running"}, "", true, Starting},
		{"stops to be started", systemd.UnitState{Active: "deactivating", Invocation: "old", Job: true, JobState: "running"}, "", true, Starting},
		{"failed", systemd.UnitState{Active: "failed", Invocation: "new"}, "", true, IsDown},
		{"failed, and is about to be started", systemd.UnitState{Active: "failed", Invocation: "new", Job: true, JobState: "running"}, "", true, Starting},
		{"cannot be started any more", systemd.UnitState{Load: "bad-setting", Active: "active", Invocation: "old"}, "", true, IsDown},
		{"failed before", systemd.UnitState{Active: "failed", Invocation: "old"}, "", true, NoVerdict},
		{"failed, and starts again", systemd.UnitState{Active: "activating", Sub: "auto-restart", Invocation: "new"}, "", true, IsDown},
		{"stopped by somebody", systemd.UnitState{Active: "inactive", Invocation: "new"}, "", true, NoVerdict},
		{"its job is about to run", systemd.UnitState{Active: "active", Invocation: "old", Job: true, JobState: "waiting"}, "", true, Starting},
		{"its job waits for us", systemd.UnitState{Active: "active", Invocation: "old", Job: true, JobState: "waiting"}, "", false, Queued},
	} {
		if got := JudgeUnit(test.unit, test.kind, "old", 100*second, test.ready); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
