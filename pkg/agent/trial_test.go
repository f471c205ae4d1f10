package agent

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/test/needs"
)

func TestJudgeUnit(t *testing.T) {
	const second = 1_000_000
	for _, test := range []struct {
		name  string
		unit  systemd.UnitState
		kind  string
		ready bool
		want  verdict
	}{
		{"gone", systemd.UnitState{Load: "not-found"}, "", true, noVerdict},
		{"not restarted yet", systemd.UnitState{Active: "active", Invocation: "old"}, "notify", true, queued},
		{"ready", systemd.UnitState{Active: "active", Invocation: "new", ActiveSinceUS: 100 * second}, "notify", true, isUp},
		{"started just now, and does not say when it is ready", systemd.UnitState{Active: "active", Invocation: "new", ActiveSinceUS: 99 * second}, "simple", true, comingUp},
		{"runs for a while", systemd.UnitState{Active: "active", Invocation: "new", ActiveSinceUS: 97 * second}, "simple", true, isUp},
		{"starts", systemd.UnitState{Active: "activating", Sub: "start", Invocation: "new", Job: true, JobState: "running"}, "", true, comingUp},
		{"stops to be started", systemd.UnitState{Active: "deactivating", Invocation: "old", Job: true, JobState: "running"}, "", true, comingUp},
		{"failed", systemd.UnitState{Active: "failed", Invocation: "new"}, "", true, isDown},
		{"failed, and is about to be started", systemd.UnitState{Active: "failed", Invocation: "new", Job: true, JobState: "running"}, "", true, comingUp},
		{"cannot be started any more", systemd.UnitState{Load: "bad-setting", Active: "active", Invocation: "old"}, "", true, isDown},
		{"failed before", systemd.UnitState{Active: "failed", Invocation: "old"}, "", true, noVerdict},
		{"failed, and starts again", systemd.UnitState{Active: "activating", Sub: "auto-restart", Invocation: "new"}, "", true, isDown},
		{"stopped by somebody", systemd.UnitState{Active: "inactive", Invocation: "new"}, "", true, noVerdict},
		{"its job is about to run", systemd.UnitState{Active: "active", Invocation: "old", Job: true, JobState: "waiting"}, "", true, comingUp},
		{"its job waits for us", systemd.UnitState{Active: "active", Invocation: "old", Job: true, JobState: "waiting"}, "", false, queued},
	} {
		if got := judgeUnit(test.unit, test.kind, "old", 100*second, test.ready); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// With a change that is undone only its own trials end: a unit that an earlier pass gave new
// settings is judged by those, and what was held back stays so. The line that keeps it: trial.go,
// takeBack.
func TestTrialsOfEarlierPassesGoOn(t *testing.T) {
	needs.Root(t) // files belong to root
	h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	units := func() (out []string) {
		list, err := ledger.Trials(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			out = append(out, one.Unit+" "+string(one.State))
		}
		return out
	}
	early := []ledger.Trial{{Unit: "a.service", State: ledger.TrialOpen}, {Unit: "b.service", State: ledger.TrialHeld, Tries: 3}}
	want := []string{"a.service open", "b.service held"}
	if err := ledger.SaveTrials(t.Context(), h, early); err != nil {
		t.Fatal(err)
	}
	ts := loadTrials(h, nil)
	for _, opened := range []bool{false, true} {
		if opened { // b was held back for what the documents wanted before
			ts.opened, ts.was = true, early
			ts.list = []ledger.Trial{early[0], {Unit: "b.service", State: ledger.TrialOpen}, {Unit: "c.service", State: ledger.TrialOpen}}
		}
		if err := ts.takeBack(t.Context(), h); err != nil || !slices.Equal(units(), want) {
			t.Errorf("opened %v: %v, %v; want %v", opened, units(), err, want)
		}
	}
}
