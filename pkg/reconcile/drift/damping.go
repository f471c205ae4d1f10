package drift

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
)

// In a conflict another program changes a key again after each repair. Two programs that correct
// each other for ever help nobody: they load the node, and nobody can rely on the key's value.

// damping limits the repairs of a key in a conflict. It is pure: all that it knows is in the
// ledger.
type damping struct {
	repairs int           // a key is given up after so many repairs
	within  time.Duration // if they fall into this time
}

const (
	// A person who tries something out changes a key two or three times. A package's scripts and a
	// boot's units write a key a few times. Five changes within ten minutes come from a program.
	maxRepairs = 5
	dampWithin = 10 * time.Minute
	// A key that was given up is tried again at least once a day, because the other program may be
	// gone and nothing reports that.
	restTimes = 6 // times within, which is one hour; doubled after each try
	restMax   = 24 * time.Hour
	// maxRecent bounds the ledger. It is enough for the largest number that documents may set.
	maxRecent = 1000
)

func dampingOf(c policy.Contested) damping {
	p := damping{repairs: maxRepairs, within: dampWithin}
	if c.Repairs > 0 {
		p.repairs = c.Repairs
	}
	if c.Within > 0 {
		p.within = time.Duration(c.Within)
	}
	return p
}

// decision is what happens to a key that somebody changed.
type decision struct {
	repair    bool      // the key is repaired now
	until     time.Time // otherwise: when it is repaired
	contested bool      // the key is given up until then; otherwise the repair is only delayed
	retry     bool      // the key was given up, and is tried again
	anew      bool      // a person asked: earlier repairs do not count
}

// judge decides whether a key that others changed is repaired now. gone means that the other
// program no longer runs.
//
// The first repair is made at once. Each further repair in the same conflict waits four times as
// long after the repair before it. The last one that is allowed waits a quarter of p.within, so all
// of them fall into p.within. Then the key is given up for six times p.within, and tried again. If
// it is changed once more, it is given up for twice as long, up to a day. The conflict is over if
// the key was still right six times p.within after its next try was due.
//
// If the other program no longer runs, the key is repaired at once. In case that was only one
// process of several, each further repair of this kind waits twice as long.
func (p damping) judge(d *ledger.Drift, now time.Time, gone bool) decision {
	last := d.Last()
	passed := now.Sub(last)
	if last.IsZero() || passed < 0 { // no wait after the clock was set back
		return decision{repair: true}
	}
	near := len(p.recent(d, last))
	if d.Trials == 0 && near < p.repairs {
		pause := p.pause(near)
		if passed >= p.within || gone {
			pause = 0
		}
		return decision{repair: passed >= pause, until: last.Add(pause)}
	}
	rest := p.rest(d.Trials)
	wait := rest
	if gone {
		wait = min(rest, PodsPause<<min(d.Trials, 10))
	}
	switch {
	case passed < wait:
		return decision{until: last.Add(wait), contested: true}
	case passed >= rest+p.rest(0):
		return decision{repair: true}
	}
	return decision{repair: true, retry: true}
}

// noted returns what the ledger says about a key that is repaired now, after a decision.
func (p damping) noted(was *ledger.Drift, by decision, now time.Time) *ledger.Drift {
	d := ledger.Drift{First: now}
	if was != nil {
		d = *was
	}
	d.Repairs++
	if by.retry {
		d.Trials++
	} else {
		d.Trials = 0
		d.Recent = p.recent(&d, now)
	}
	if by.anew {
		d.Recent = nil
	}
	if len(d.Recent) == 0 {
		d.Writer, d.By = "", host.WriterID{}
	}
	d.Recent = append(slices.Clone(d.Recent), now)
	d.Recent = d.Recent[max(0, len(d.Recent)-maxRecent):]
	return &d
}

// recent returns the repairs within the time that ends at end.
func (p damping) recent(d *ledger.Drift, end time.Time) []time.Time {
	i := slices.IndexFunc(d.Recent, func(at time.Time) bool { return end.Sub(at) < p.within && !at.After(end) })
	if i < 0 {
		return nil
	}
	return d.Recent[i:]
}

// pause returns how long the next repair waits after so many repairs.
func (p damping) pause(made int) time.Duration {
	pause := p.within / 4
	for range p.repairs - 1 - made {
		pause /= 4
	}
	return pause
}

// rest returns how long a key is left alone after so many tries.
func (p damping) rest(trials int) time.Duration {
	rest := restTimes * p.within
	for range trials {
		if rest *= 2; rest > restMax {
			break
		}
	}
	return min(rest, max(restMax, restTimes*p.within))
}
