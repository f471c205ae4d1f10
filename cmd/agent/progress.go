package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
)

// progress shows a converging run: the plan once, on a terminal a line that
// says what is worked on when it takes long, and the end.
type progress struct {
	f           *flags
	s           streams
	live        bool
	mu          sync.Mutex
	since       map[graph.Key]time.Time
	shown       bool          // the plan was printed, or need not be
	notes       []report.Note // those that were printed with it; nil: it was not
	line        bool          // a progress line stands on the terminal
	stop        chan struct{}
	ended       chan struct{} // closed by the goroutine that draws
	waited      string
	saidVersion bool // that the daemon is of another version
}

// slow is how long a key is worked on before a terminal hears of it.
const slow = 500 * time.Millisecond

func newProgress(f *flags, s streams, again bool) *progress {
	return &progress{f: f, s: s, shown: again, live: f.text() && isTerminal(s.err), since: map[graph.Key]time.Time{}}
}

func (p *progress) hooks() reconcile.Hooks {
	return reconcile.Hooks{
		Hooks: execute.Hooks{
			OnStart: func(k graph.Key) { p.mu.Lock(); p.since[k] = time.Now(); p.mu.Unlock() },
			OnDone:  func(k graph.Key, _ graph.State) { p.mu.Lock(); delete(p.since, k); p.mu.Unlock() },
			OnRetry: func(k graph.Key, why error, pause time.Duration) {
				p.say("  … %s: %v; trying again in %s\n", k, changes.Cause(why), pause.Round(time.Second/10))
			},
		},
		OnPlan: func(plan *report.Plan) {
			if p.f.text() && plan.Summary.Changes() > 0 {
				_ = report.Text(p.s.out, plan, report.TextOptions{Color: isTerminal(p.s.out), Diffs: true})
				p.shown, p.notes = true, append([]report.Note{}, plan.Notes...)
				p.begin()
			}
		},
		Progress: session.Progress{OnWait: func(who string) { p.say("  … waiting for %s\n", who) }},
	}
}

// begin draws until end is called, where there is a terminal to draw on.
func (p *progress) begin() {
	if !p.live || p.stop != nil {
		return
	}
	p.stop, p.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(p.ended)
		tick := time.NewTicker(slow)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				p.draw()
			}
		}
	}()
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var longest graph.Key
	var since time.Time
	for k, t := range p.since {
		if longest == "" || t.Before(since) {
			longest, since = k, t
		}
	}
	if longest == "" || time.Since(since) < slow {
		return
	}
	fmt.Fprintf(p.s.err, "\r\x1b[K  … %s (%s)", longest, time.Since(since).Round(time.Second/10))
	p.line = true
}

// say writes a line of its own, in place of the progress line.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.line {
		fmt.Fprint(p.s.err, "\r\x1b[K")
		p.line = false
	}
	fmt.Fprintf(p.s.err, format, args...)
}

// end takes the progress line away; the run is over.
func (p *progress) end() {
	if p.stop != nil {
		close(p.stop)
		<-p.ended
		p.stop = nil
	}
	p.say("")
}

// waiting says once what is waited for.
func (p *progress) waiting(plan *report.Plan) {
	for _, s := range plan.Steps {
		if s.State == report.Waits && s.Message != p.waited {
			p.waited = s.Message
			p.say("  … waiting for %s\n", strings.TrimPrefix(s.Message, "waiting for "))
			return
		}
	}
}

// result prints what became of it: all, or after the plan only what needs a person and what is new.
func (p *progress) result(plan *report.Plan) error {
	if !p.f.text() {
		return p.f.data(p.s, plan)
	}
	opt := report.TextOptions{Color: isTerminal(p.s.out), Brief: p.shown, Diffs: true}
	if p.notes != nil {
		opt.News = slices.DeleteFunc(slices.Clone(plan.Notes),
			func(n report.Note) bool { return slices.Contains(p.notes, n) })
	}
	return report.Text(p.s.out, plan, opt)
}
