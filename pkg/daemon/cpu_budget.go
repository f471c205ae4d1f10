package daemon

import "time"

// cpuBudget bounds what the daemon may use of a processor for what events ask for: some at once,
// and then a share. Time alone would be the wrong measure: a pass on a node with ten thousand files
// costs a hundred times one on a small node, and one that waits for a probe costs nothing
// meanwhile. Its user is one goroutine.
type cpuBudget struct {
	burst time.Duration // of processor time
	share int           // one in so many, of one processor
	now   func() time.Time
	used  func() time.Duration // processor time, since whenever

	full time.Time // when all of the burst is there again
}

// longestPause is what one pass that used very much costs those after it at most.
const longestPause = 5 * time.Second

// pause is how long to wait before the next one may begin.
func (p *cpuBudget) pause() time.Duration {
	free := p.full.Add(-p.burst * time.Duration(p.share))
	return min(max(free.Sub(p.now()), 0), longestPause)
}

// begin notes that one begins. What it returns notes, when it ends, what it has used.
func (p *cpuBudget) begin() (spend func()) {
	begun := p.used()
	return func() {
		if now := p.now(); p.full.Before(now) {
			p.full = now
		}
		p.full = p.full.Add((p.used() - begun) * time.Duration(p.share))
	}
}
