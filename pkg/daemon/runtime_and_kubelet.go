package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// The daemon looks at the container runtime and kubelet beside its loop: a runtime that hangs
// answers late or never, and no repair may wait for it. The daemon does not change these services.
// Where one does not work, status, condition, metrics and Events say so.

// Times of the looks at services.
const (
	servicesEvery = 30 * time.Second
	servicesSoon  = 5 * time.Second  // after a look that found a problem for the first time
	servicesLimit = 10 * time.Second // of one look
	restartsIn    = 5 * time.Minute  // only restarts within this time count …
	restartsMost  = 3                // … and so many of them are a restart loop
	restartsOver  = time.Minute      // a loop is over after so long without a restart
)

// aimed are the services that the daemon looks at; "" in a field: there is none.
type aimed struct {
	runtime, runtimeUnit, socket string
	disabledBy                   string // what disables its CRI plugin, by the files of the last pass
	kubeletUnit                  string
}

// services is the state of the container runtime and kubelet.
type services struct {
	aim    aimed
	states map[string]*serviceState // by name
	now    chan []sighting          // receives the result of the look under way; nil: there is none
	next   time.Time                // when to look again
}

// serviceState is the state of one service.
type serviceState struct {
	seen     sighting // the result of the last look
	reported report.Service
	judged   bool   // reported has a judgement
	why      string // why it does not work, as reported, without what differs at each look
	bad      int    // consecutive looks that found a problem
	restarts int    // systemd's counter; -1: not read yet
	at       []time.Time
	run      string // the last run in which it answered, by [systemd.UnitState].Invocation
}

// sighting is what one look found of one service.
type sighting struct {
	name, unit, means string
	state             systemd.UnitState
	restarts          int
	end               systemd.UnitEnd
	silent            error // the runtime does not answer, though its unit is active
	err               error // why the state of the unit is not known
}

// of takes the names of the services from the facts. A runtime without a socket does not run now;
// its last socket is used when it runs again.
func (s *services) of(f *host.Facts) {
	aim := aimed{kubeletUnit: f.Kubelet.Unit}
	if rt := f.Runtime; rt.Name != "" {
		aim.runtime, aim.runtimeUnit = rt.Name, facts.RuntimeUnit(rt.Name)
		if aim.socket = rt.Socket; rt.Socket == "" && rt.Name == s.aim.runtime {
			aim.socket = s.aim.socket
		}
		aim.disabledBy = strings.Join(rt.CRIDisabledBy, ", and ")
	}
	s.aim = aim
}

// untilNext returns how long it is until the next look: never where there is no service, or where a
// look is under way.
func (s *services) untilNext() time.Duration {
	if s.now != nil || s.aim == (aimed{}) {
		return never
	}
	return max(time.Until(s.next), 0) // the first look is made at once
}

// begin begins a look in a goroutine of its own. It leaves kubelet out where kubelet still waits
// for READY=1.
func (s *services) begin(ctx context.Context, opt host.Options, kubelet bool) {
	aim := s.aim
	if !kubelet { // kubelet waits for READY=1 of the daemon
		aim.kubeletUnit = ""
	}
	before := map[string]sighting{}
	for _, one := range s.states {
		before[one.seen.unit] = one.seen
	}
	s.now = make(chan []sighting, 1)
	s.next = host.NextTick(time.Now(), servicesEvery)
	go func(to chan<- []sighting) {
		ctx, stop := context.WithTimeoutCause(ctx, servicesLimit,
			fmt.Errorf("systemd did not answer within %s", servicesLimit))
		defer stop()
		to <- aim.look(ctx, opt, before)
	}(s.now)
}

// look looks at each service. before has the results of the last look, by unit.
func (a aimed) look(ctx context.Context, opt host.Options, before map[string]sighting) (list []sighting) {
	opt.Facts = &host.Facts{} // the look needs no facts
	view, err := host.OpenView(ctx, opt)
	if err != nil {
		return nil // the next pass reports why
	}
	defer view.Close() // a view writes nothing: no error matters
	if a.runtimeUnit != "" {
		s := sight(ctx, view, a.runtimeUnit, before)
		s.name, s.means = a.runtime, "no pod can be started or stopped; running pods go on"
		if s.err == nil && s.state.Active == "active" && a.socket != "" {
			s.silent = a.answer(ctx, view)
		}
		list = append(list, s)
	}
	if a.kubeletUnit != "" {
		s := sight(ctx, view, a.kubeletUnit, before)
		s.name, s.means = "kubelet", "pods are neither started nor stopped, and the node becomes NotReady"
		list = append(list, s)
	}
	return list
}

// answer returns nil if the runtime answers over CRI.
func (a aimed) answer(ctx context.Context, view *host.Live) error {
	if _, err := view.Files.Lstat(a.socket); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("its socket %s was removed: restart it", a.socket)
	}
	err := cri.CheckAnswer(ctx, a.socket)
	if errors.Is(err, cri.ErrUnimplemented) && a.disabledBy != "" {
		return fmt.Errorf("its CRI is switched off: disabled_plugins has %s: remove it from that list, and restart it",
			a.disabledBy)
	}
	return err
}

// sight looks at one unit. Where the unit was active at the last look and systemd reports no change
// since, it returns the earlier result: to read all properties takes systemd a millisecond.
func sight(ctx context.Context, view *host.Live, unit string, before map[string]sighting) sighting {
	if s := before[unit]; s.state.Active == "active" && !s.state.Job {
		if at, err := view.Units.UnitChangedUS(ctx, unit); err == nil && at == s.state.ChangedUS {
			s.silent = nil
			return s
		}
	}
	s := sighting{unit: unit}
	if s.state, s.err = view.Units.Unit(ctx, unit); s.err != nil {
		return s
	}
	s.restarts = view.Units.UnitRestarts(ctx, unit)
	if s.state.DoesNotStayUp() {
		s.end = view.Units.UnitEnd(ctx, unit)
	}
	return s
}

// result receives the result of the look under way.
func (s *services) result() <-chan []sighting { return s.now }

// take judges the result of a look, and returns the state of the services. again says that the
// runtime was started again and answers: it has read its configuration, which may have changed.
func (s *services) take(list []sighting, now time.Time) (out []report.Service, again bool) {
	s.now = nil
	if s.states == nil {
		s.states = map[string]*serviceState{}
	}
	seen := map[string]bool{}
	for i := range list {
		g := &list[i]
		one := s.states[g.name]
		if one == nil || one.reported.Unit != g.unit {
			one = &serviceState{reported: report.Service{Name: g.name, Unit: g.unit, Works: true, Since: now},
				restarts: -1}
			s.states[g.name] = one
		}
		seen[g.name] = true
		one.seen = *g
		if g.name == s.aim.runtime && g.err == nil && g.state.Active == "active" && g.silent == nil {
			again = one.run != "" && one.run != g.state.Invocation
			one.run = g.state.Invocation
		}
		if one.take(g, now) {
			s.next = now.Add(servicesSoon)
		}
		if one.judged {
			out = append(out, one.reported)
		}
	}
	for name := range s.states {
		if !seen[name] {
			delete(s.states, name)
		}
	}
	slices.SortStableFunc(out, func(a, b report.Service) int { return cmp.Compare(a.Name, b.Name) })
	return out, again
}

// take judges what a look found of one service, and reports whether another look should come soon.
// One bad look may be a restart that somebody asked for: only two in a row say that the service
// does not work.
func (s *serviceState) take(g *sighting, now time.Time) (soon bool) {
	switch {
	case g.err != nil, g.unasked(), g.state.Job: // it is not known, or systemd starts or stops the unit now
		return false
	case !g.expected():
		s.judged, s.bad = false, 0
		return false
	}
	if s.restarts >= 0 && g.restarts > s.restarts {
		s.at = append(s.at, now)
	}
	s.restarts = g.restarts
	s.at = slices.DeleteFunc(s.at, func(at time.Time) bool { return now.Sub(at) > restartsIn })
	why := g.wrong()
	if why == "" && len(s.at) >= restartsMost && now.Sub(s.at[len(s.at)-1]) < restartsOver {
		why = g.unit + " runs now, and restarted in a loop until less than a minute ago"
	}
	works := why == ""
	if works {
		s.bad = 0
	} else if s.bad++; s.bad < 2 {
		return true
	}
	if !s.judged || s.reported.Works != works {
		s.reported.Works, s.reported.Since = works, now
	}
	if s.why != why {
		s.why, s.reported.Text = why, g.text(why)
	}
	s.judged = true
	return false
}

// unasked reports that the runtime could not be asked, because the daemon has no file descriptor or
// no memory for the question.
func (g *sighting) unasked() bool {
	return slices.ContainsFunc(host.Shortages(), func(err error) bool { return errors.Is(g.silent, err) })
}

// expected reports that the unit should run: it is active, or was since the boot, and is no unit
// that ran to its end.
func (g *sighting) expected() bool {
	u := &g.state
	return u.Load == "loaded" && (u.Active != "inactive" || u.ActiveSinceUS != 0 || u.StartedUS != 0) && !u.Ran
}

// wrong returns why a service does not work, without what differs at each look: systemd's counter
// and the log lines. "": it works.
func (g *sighting) wrong() string {
	u := &g.state
	switch {
	case g.state.DoesNotStayUp():
		return fmt.Sprintf("%s does not stay up (%s)", g.unit, cmp.Or(g.end.String(), u.Result))
	case u.Active == "inactive", u.Active == "deactivating":
		return g.unit + " is stopped"
	case g.silent != nil:
		return fmt.Sprintf("%s runs, but does not answer (%s)", g.unit, desired.OneLine(g.silent))
	}
	return ""
}

// text is why a service does not work, what that means, and what systemd and the journal add.
func (g *sighting) text(why string) string {
	if why == "" {
		return ""
	}
	if g.restarts > 0 && g.silent == nil && g.state.Active != "inactive" {
		why += ", restarted " + plural.Of(g.restarts, "time") + " so far"
	}
	why += ": " + g.means
	if log := strings.Join(strings.Fields(g.end.Journal), " "); log != "" && g.state.DoesNotStayUp() {
		why += "; its last log lines: " + log
	}
	return why
}

// withServices returns the state of a node: the state by its keys, or critical where a service does
// not work.
func withServices(state report.NodeState, reason string, list []report.Service) (report.NodeState, string) {
	s := report.Status{Services: list}
	if down := s.Down(); down != nil && state != report.NodeCritical && state != report.NodeStarting {
		return report.NodeCritical, fmt.Sprintf("%s does not work: %s", down.Name, down.Text)
	}
	return state, reason
}
