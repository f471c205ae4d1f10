package starts

import (
	"testing"

	"github.com/netwright/netwright/pkg/host/systemd"
)

func TestJudgeStart(t *testing.T) {
	t.Parallel()
	unit := func(active, sub string) systemd.UnitState {
		return systemd.UnitState{Name: "x.service", Load: "loaded", Active: active, Sub: sub, ActiveSinceUS: 1_000_000}
	}
	job := func(u systemd.UnitState, state string) systemd.UnitState {
		u.Job, u.JobType, u.JobState = true, "start", state
		return u
	}
	bad := unit("inactive", "dead")
	bad.Load = "bad-setting"
	for _, row := range []struct {
		what     string
		now      systemd.UnitState
		kind     string
		restarts int
		want     Verdict
	}{
		{"its job waits", job(unit("inactive", "dead"), "waiting"), "", 0, Queued},
		{"its job runs", job(unit("activating", "start"), "running"), "", 0, Starting},
		{"it failed and is about to be started", job(unit("failed", "failed"), "running"), "", 0, Starting},
		{"it failed", unit("failed", "failed"), "", 0, IsDown},
		{"it failed once, and systemd starts it again", unit("activating", "auto-restart"), "", 1, Starting},
		{"it failed twice", unit("activating", "auto-restart"), "", 2, IsDown},
		{"it cannot be read", bad, "", 0, IsDown},
		{"it runs for a second", unit("active", "running"), "simple", 0, Starting},
		{"it said that it is up", unit("active", "running"), "notify", 0, IsUp},
		{"it ran to its end", unit("inactive", "dead"), "", 0, IsUp},
	} {
		if got := judgeStart(row.now, row.kind, row.restarts, 2_000_000); got != row.want {
			t.Errorf("%s: %d, want %d", row.what, got, row.want)
		}
	}
}
