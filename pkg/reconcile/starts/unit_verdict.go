// Package starts checks the units that a pass started, reloaded or restarted: whether they came up,
// and if not, what systemd and the journal say about it.
package starts

import (
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Verdict is what is known about a unit after a change.
type Verdict int

const (
	Starting Verdict = iota // the unit is starting
	Queued                  // it was not restarted yet, or its job waits, perhaps for the agent
	IsUp
	IsDown
	NoVerdict // somebody stopped the unit, or it is gone
)

// steady is how long a unit without a readiness signal must run to count as up, in microseconds.
const steady = 2_000_000

// JudgeUnit returns the verdict on a unit. before is the ID of its run before the change. ready
// means that no unit waits for the agent, so a waiting job is about to run.
func JudgeUnit(now systemd.UnitState, kind string, before string, clockUS uint64, ready bool) Verdict {
	fresh := now.Invocation != before
	switch {
	case now.Load == "not-found":
		return NoVerdict
	case now.Job && now.JobState == "waiting" && !ready:
		return Queued
	case now.Job: // even a failed unit with a job is about to be started
		return Starting
	case now.Load == "bad-setting" || now.Load == "error": // systemd cannot start it again
		return IsDown
	case now.Active == "failed" && fresh, now.Active == "activating" && now.Sub == "auto-restart" && fresh:
		return IsDown
	case now.Active == "activating" || now.Active == "deactivating":
		return Starting
	case now.Active == "inactive" || now.Active == "failed":
		return NoVerdict
	case !fresh:
		return Queued // it was not restarted yet
	case kind == "simple" || kind == "exec" || kind == "idle":
		if clockUS-now.ActiveSinceUS < steady {
			return Starting
		}
	}
	return IsUp
}

// judgeStart returns the verdict on a unit that should run. kind is its Type. restarts is how often
// systemd has restarted it by itself: one restart may have an accidental cause.
func judgeStart(now systemd.UnitState, kind string, restarts int, clockUS uint64) Verdict {
	again := now.Active == "activating" && now.Sub == "auto-restart"
	switch {
	case now.Job && now.JobState == "waiting" && !again:
		return Queued
	case now.Load == "bad-setting" || now.Load == "error":
		return IsDown
	case again && restarts > 1:
		return IsDown
	case now.Job || now.Active == "activating" || now.Active == "deactivating":
		return Starting
	case now.Active == "failed":
		return IsDown
	case now.Active == "active" && (kind == "simple" || kind == "exec" || kind == "idle") &&
		clockUS-now.ActiveSinceUS < steady:
		return Starting
	}
	return IsUp // or it ran and ended well
}
