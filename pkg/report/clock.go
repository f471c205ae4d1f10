package report

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// clockStep is the difference of two clocks from which the wall clock counts as set.
const clockStep = 5 * time.Second

// began and beganUp are the start of the process. While the machine is suspended, the uptime goes
// on, and the monotonic reading of a time does not.
var began, beganUp = time.Now(), host.Uptime()

// ByClock returns a time by the wall clock as it is now. Somebody may have set the clock since this
// process noted the time: at a boot often by years. A time that this process did not note stays as
// it is, because it has no reading of the clock that nobody sets.
func ByClock(t time.Time) time.Time {
	return byClock(t, func() time.Duration { return host.Uptime() - beganUp - time.Since(began) })
}

// byClock is [ByClock] on a machine that was suspended for so long since the process began. A
// difference of the clocks that this explains is no clock that was set. To read the uptime is a
// system call, which few times need.
func byClock(t time.Time, suspended func() time.Duration) time.Time {
	now := time.Now()
	moved := now.Add(t.Sub(now))
	set := moved.Round(0).Sub(t.Round(0))
	if t.IsZero() || set.Abs() <= clockStep || set > 0 && set <= suspended()+clockStep {
		return t
	}
	return moved
}

// ByClock returns the status with the moments that the daemon noted by the wall clock as it is now.
func (s *Status) ByClock() *Status { return s.withMoments(ByClock) }

// ReadAt returns the status for a reader whose wall clock and uptime are now and up. Only times of
// the same boot can be compared: the status is from a file that does not outlive a boot.
func (s *Status) ReadAt(now time.Time, up time.Duration) *Status {
	passed := up - s.Up.Duration()
	moved := now.Sub(s.At) - passed
	if s.Up == 0 || passed < 0 || moved.Abs() <= clockStep {
		return s
	}
	return s.withMoments(func(t time.Time) time.Time { return t.Add(moved) })
}

// withMoments returns a copy of the status with changed moments.
func (s *Status) withMoments(change func(time.Time) time.Time) *Status {
	out := *s
	out.Keys, out.Services = slices.Clone(s.Keys), slices.Clone(s.Services)
	c := &out.Configuration
	moments := []*time.Time{&out.At, &out.Agent.Started, &out.Next, &c.Checked, &c.Since, &c.Silent}
	for i := range out.Keys {
		moments = append(moments, &out.Keys[i].Since)
	}
	for i := range out.Services {
		moments = append(moments, &out.Services[i].Since)
	}
	if s.Working != nil {
		w := *s.Working
		out.Working, moments = &w, append(moments, &w.Since)
	}
	if s.Hangs != nil {
		h := *s.Hangs
		out.Hangs, moments = &h, append(moments, &h.Since)
	}
	if s.Last != nil {
		l := *s.Last
		out.Last, moments = &l, append(moments, &l.Began)
	}
	for _, at := range moments {
		if !at.IsZero() {
			*at = change(*at)
		}
	}
	return &out
}
