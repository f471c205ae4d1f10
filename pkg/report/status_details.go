package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/plural"
)

// details writes what is good to know: certificates, the last pass, the next one, the daemon.
func (t *statusText) details(s *Status) {
	t.certificates(s.Certificates)
	t.afterChange(s)
	t.working(s)
	if l := s.Last; l != nil {
		t.last(l)
	}
	if !s.Next.IsZero() && t.served {
		next := "next look      in " + span(s.Next.Sub(t.now))
		if !s.Next.After(t.now) {
			next = "next look      now"
		}
		t.say("", "", next+", and whenever something changes")
	}
	n := s.Totals
	parts := []string{plural.Of(n.Passes, "pass", "passes")}
	for _, c := range []struct {
		n         int64
		one, many string
	}{{n.Failed, "failed", "failed"}, {n.Changes, "change", "changes"}, {n.Repairs, "repair", "repairs"},
		{n.Rollbacks, "rollback", "rollbacks"}} {
		if c.n > 0 {
			parts = append(parts, plural.Of(c.n, c.one, c.many))
		}
	}
	t.say("", dim, fmt.Sprintf("agent          %s, pid %d, for %s: %s", s.Agent.Version, s.Agent.PID,
		t.age(s.Agent.Started), strings.Join(parts, ", ")))
}

// certificates writes the certificates with a problem, and a summary of the others.
func (t *statusText) certificates(list []Certificate) {
	if len(list) == 0 {
		return
	}
	var next time.Time
	well, how := 0, ""
	for i := range list {
		c := &list[i]
		name := c.Name
		if c.CA {
			name += " (CA)"
		}
		switch {
		case c.Problem != "":
			t.say("", yellow, fmt.Sprintf("! certificate %s is %s: %s", name, c.State, c.Problem))
			t.do("  ", "`agent certs` tells more")
		case c.NotAfter.IsZero(): // it does not exist yet
			t.say("", yellow, fmt.Sprintf("… certificate %s is %s", name, c.State))
		default:
			well++
			if at := Sooner(c.RenewAt, c.NotAfter); Sooner(next, at).Equal(at) {
				next, how = at, "to renew"
				if c.RenewAt.IsZero() {
					how = "ends"
				}
			}
		}
	}
	if well > 0 {
		line := fmt.Sprintf("certificates   %d of %d well", well, len(list))
		if !next.IsZero() {
			line += ", the next one " + how + " on " + Stamp(next)
		}
		t.say("", "", line)
	}
}

// Sooner returns the earlier of two times, ignoring zero times.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// working writes what the daemon is doing.
func (t *statusText) working(s *Status) {
	w := s.Working
	if w == nil || !t.served {
		return
	}
	line := fmt.Sprintf("working        %s, for %s", w.Activity, t.age(w.Since))
	switch {
	case w.Proving:
		line += ", with " + plural.Of(w.Changes, "change", "changes") + " made, which a checkpoint probes"
	case w.Changes > 0:
		line += ", with " + plural.Of(w.Changes, "change", "changes") + " to make"
	}
	t.say("", bold, line)
}

// last writes the last pass, with the times of its phases.
func (t *statusText) last(l *LastPass) {
	line := fmt.Sprintf("last converge  %s ago, took %s", t.age(l.Began), took(l.Took))
	if l.Cause != "" {
		line += " (" + l.Cause + ")"
	}
	if l.Changed > 0 {
		line += fmt.Sprintf(", %d changed", l.Changed)
	}
	if l.Repairs > 0 {
		line += fmt.Sprintf(", %d repaired", l.Repairs)
	}
	t.say("", "", line)
	parts := make([]string, len(l.Phases))
	for i, p := range l.Phases {
		parts[i] = p.Name + " " + took(p.Took)
	}
	if len(parts) > 0 {
		t.say("               ", dim, strings.Join(parts, ", "))
	}
	if l.Error != "" && above(t.why, l.Error) == l.Error {
		t.say("  ", red, l.Error)
	}
}
