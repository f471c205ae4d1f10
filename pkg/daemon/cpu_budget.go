package daemon

import "time"

// cpuBudget limits the processor time that the daemon uses for work that events ask for. It allows
// a burst first, and then a share of one processor. A limit on the number of passes would be the
// wrong measure: a pass on a node with ten thousand files costs a hundred times one on a small
// node, and a pass that waits for a probe costs nothing meanwhile. Only one goroutine uses a
// budget.
type cpuBudget struct {
	burst time.Duration // in processor time
	share int           // the daemon gets 1/share of one processor
	now   func() time.Time
	used  func() time.Duration // the process's processor time so far

	full time.Time // when all of the burst is available again
}

// longestPause is the longest pause before a pass, however much the passes before it used.
const longestPause = 5 * time.Second

// pause returns how long the daemon must wait before it may begin the next work.
func (p *cpuBudget) pause() time.Duration {
	free := p.full.Add(-p.burst * time.Duration(p.share))
	return min(max(free.Sub(p.now()), 0), longestPause)
}

// begin records that work begins. The caller calls spend when the work ends: it charges the
// processor time that the work used.
func (p *cpuBudget) begin() (spend func()) {
	begun := p.used()
	return func() {
		if now := p.now(); p.full.Before(now) {
			p.full = now
		}
		p.full = p.full.Add((p.used() - begun) * time.Duration(p.share))
	}
}
