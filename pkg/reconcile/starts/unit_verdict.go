// Package starts looks at units that a pass started, reloaded or restarted: whether they came up,
// and what systemd and the journal say where they did not.
package starts

import (
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Verdict is what is known of a unit after a change.
type Verdict int

const (
	Starting Verdict = iota // it is coming up
	Queued                  // it was not restarted yet, or its job waits, and maybe for us
	IsUp
	IsDown
	NoVerdict // there is nothing to judge: somebody stopped it, or it is gone
)

// steady is how long a unit without a readiness signal must run to count as up, in microseconds.
const steady = 2_000_000

// JudgeUnit looks at a unit. before is its run before the change. ready says that nobody waits for
// the agent: a job that waits then is about to run.
func JudgeUnit(now systemd.UnitState, kind string, before string, clockUS uint64, ready bool) Verdict {
	fresh := now.Invocation != before
	switch {
	case now.Load == "not-found":
		return NoVerdict
	case now.Job && now.JobState == "waiting" && !ready:
		return Queued
	case now.Job: // also of one that failed: it is about to be started
		return Starting
	case now.Load == "bad-setting" || now.Load == "error": // it cannot be started again
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

// judgeStart looks at a unit that is to run. kind is its Type, restarts how often systemd has
// started it again by itself: once may be bad luck.
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
	return IsUp // or it ran, and ended well
}
