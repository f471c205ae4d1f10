package agent

import "time"

// pace bounds how often something happens: some at once, and then one now and then. Its user is one goroutine.
type pace struct {
	burst int
	every time.Duration
	now   func() time.Time
	full  time.Time // when all of the burst is there again
}

// pause is how long to wait before the next one.
func (p *pace) pause() time.Duration {
	free := p.full.Add(-time.Duration(p.burst-1) * p.every)
	return max(free.Sub(p.now()), 0)
}

// spend notes that one happens.
func (p *pace) spend() {
	if now := p.now(); p.full.Before(now) {
		p.full = now
	}
	p.full = p.full.Add(p.every)
}
