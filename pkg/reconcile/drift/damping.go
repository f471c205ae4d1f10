package drift

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
)

// A conflict is a key that is changed back again and again, whatever is repaired. Two programs that
// correct each other for ever help nobody: they load the node, and the key has no value that
// anybody could rely on.

// damping is how a conflict is kept small. It is pure: what it knows is in the ledger.
type damping struct {
	repairs int           // repairs within the time after which a key is given up
	within  time.Duration // and the time
}

const (
	// A person who tries something out does so two or three times; a package's scripts and a boot's
	// units write a key a few times. Five times in ten minutes is a program.
	maxRepairs = 5
	dampWithin = 10 * time.Minute
	// What is given up is tried again, at least once a day: the other writer may be gone, and
	// nobody tells.
	restTimes = 6 // times within, which is an hour; doubled at each try
	restMax   = 24 * time.Hour
	// maxRecent bounds the ledger: it does for the largest number that documents may give.
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

// decision is what is to become of a key that somebody changed.
type decision struct {
	repair    bool      // now
	until     time.Time // else: when it is
	contested bool      // it is given up until then; else it only waits its turn
	retry     bool      // it was given up, and is tried again
	anew      bool      // a person asked: what was before does not count
}

// judge says whether a key that others changed is repaired now. gone says that who else wrote it is
// not there any more.
//
// The first time it is, at once. Each next time within the same conflict waits four times as long
// after the repair before it, so that the last one that is allowed has waited a quarter of the
// time, and all of them fall into it. Then the key is given up for six times that time, and tried
// again; if it is changed once more, for twice as long, up to a day. A key that stayed right for
// that rest after it was due has no conflict any more.
//
// Without the other it is repaired at once. Should that have been only one process of it, each next
// such try waits twice as long.
func (p damping) judge(d *ledger.Drift, now time.Time, gone bool) decision {
	last := d.Last()
	passed := now.Sub(last)
	if last.IsZero() || passed < 0 { // a clock that was set back is no reason to wait for it
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

// noted is what the ledger says of a key that is repaired now, by a decision.
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

// recent are the repairs within the time that ends at a moment.
func (p damping) recent(d *ledger.Drift, end time.Time) []time.Time {
	i := slices.IndexFunc(d.Recent, func(at time.Time) bool { return end.Sub(at) < p.within && !at.After(end) })
	if i < 0 {
		return nil
	}
	return d.Recent[i:]
}

// pause is how long the next repair waits after so many.
func (p damping) pause(made int) time.Duration {
	pause := p.within / 4
	for range p.repairs - 1 - made {
		pause /= 4
	}
	return pause
}

// rest is how long a key is left alone after so many trials.
func (p damping) rest(trials int) time.Duration {
	rest := restTimes * p.within
	for range trials {
		if rest *= 2; rest > restMax {
			break
		}
	}
	return min(rest, max(restMax, restTimes*p.within))
}
