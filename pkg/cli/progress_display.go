package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
)

// Display shows a run that makes passes: the plan once, on a terminal a progress line where a key
// takes long, what may hang, and the result.
type Display struct {
	f           *Flags
	Shown       bool // the plan was printed, or is not to be printed
	live        bool
	mu          sync.Mutex
	since       map[graph.Key]time.Time
	notes       []report.Note // the notes that were printed with the plan; nil: it was not printed
	line        bool          // the terminal shows a progress line
	began       time.Time
	phase       string         // the current phase
	hangs       string         // of which the display said last that it may hang
	loading     fetch.Transfer // the download that last made progress
	stop        chan struct{}
	ended       chan struct{} // closed when the drawing goroutine ends
	waited      string
	waitedSince time.Time
	saidVersion bool // the other version of the daemon was reported
}

const (
	// slow is how long a key takes before a terminal shows it.
	slow = 500 * time.Millisecond
	// late is how long a key, or the part of a run before the first key, takes before the display
	// says that it may hang. What a pass applies besides keys, such as probes, ends by itself.
	late = time.Minute
)

// NewDisplay returns a display that writes to the output of a command.
func NewDisplay(f *Flags) *Display {
	return &Display{f: f, live: f.Text() && IsTerminal(f.Err), since: map[graph.Key]time.Time{}}
}

// Hooks returns the hooks of a pass that this process makes.
func (d *Display) Hooks() reconcile.Hooks {
	return reconcile.Hooks{
		Hooks: execute.Hooks{
			OnStart: func(k graph.Key) { d.mu.Lock(); d.since[k] = time.Now(); d.mu.Unlock() },
			OnDone:  func(k graph.Key, _ graph.State) { d.mu.Lock(); delete(d.since, k); d.mu.Unlock() },
			OnRetry: func(k graph.Key, why error, pause time.Duration) {
				d.say("  … %s: %v; trying again in %s\n", k, changes.Cause(why), pause.Round(time.Second/10))
			},
		},
		OnPlan: func(plan *report.Plan) {
			if d.f.Text() && plan.Summary.Changes() > 0 {
				d.mu.Lock() // the progress line is not drawn meanwhile
				d.clear()
				_ = d.f.Plan(plan, report.TextOptions{Diffs: true})
				d.mu.Unlock()
				d.Shown, d.notes = true, append([]report.Note{}, plan.Notes...)
				d.begin()
			}
		},
		Progress: session.Progress{
			OnWait:  func(who string) { d.say("  … waiting for %s\n", who) },
			OnPhase: func(name string) { d.mu.Lock(); d.phase = name; d.mu.Unlock(); d.begin() },
		},
		OnFetch: func(p fetch.Transfer) { d.mu.Lock(); d.loading = p; d.mu.Unlock() },
	}
}

// begin shows what takes long until End is called.
func (d *Display) begin() {
	if d.stop != nil {
		return
	}
	d.stop, d.ended, d.began = make(chan struct{}), make(chan struct{}), time.Now()
	go func() {
		defer close(d.ended)
		tick := time.NewTicker(slow)
		defer tick.Stop()
		for {
			select {
			case <-d.stop:
				return
			case <-tick.C:
				d.draw()
			}
		}
	}()
}

func (d *Display) draw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	what, since := cmp.Or(d.phase, "working"), d.began
	ends := what != "look" && what != "plan"
	for k, t := range d.since {
		if since == d.began || t.Before(since) {
			what, since, ends = string(k), t, false
		}
	}
	if d.loading.URL != "" && !d.loading.Over {
		what, ends = d.loading.String(), true
	}
	took := time.Since(since)
	if took >= late && !ends && what != d.hangs {
		d.hangs = what
		d.clear()
		fmt.Fprintf(d.f.Err, "  … %s, for %s: %s\n", what, took.Round(time.Second), report.NotEnded)
	}
	if took < slow || !d.live {
		return
	}
	d.clear()
	fmt.Fprintf(d.f.Err, "  … %s (%s)", what, took.Round(time.Second/10))
	d.line = true
}

// say prints a line in place of the progress line.
func (d *Display) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clear()
	fmt.Fprintf(d.f.Err, format, args...)
}

// clear removes the progress line. The caller holds the lock.
func (d *Display) clear() {
	if d.line {
		fmt.Fprint(Exact(d.f.Err), "\r\x1b[K")
		d.line = false
	}
}

// End removes the progress line after the run.
func (d *Display) End() {
	if d.stop != nil {
		close(d.stop)
		<-d.ended
		d.stop = nil
	}
	d.say("")
}

// Waiting prints once what the run waits for. A terminal also shows how long it has waited.
func (d *Display) Waiting(plan *report.Plan) {
	for s := range plan.In(report.Waits) {
		if s.Message != d.waited {
			d.waited, d.waitedSince = s.Message, time.Now()
			d.say("  … waiting for %s\n", strings.TrimPrefix(s.Message, "waiting for "))
			return
		}
	}
	if d.live {
		d.say("  … still waiting (%s)", time.Since(d.waitedSince).Round(time.Second))
		d.line = true
	}
}

// Result prints the result. Where the plan was printed before, it prints only what needs a person
// and what is new.
func (d *Display) Result(plan *report.Plan) error {
	opt := report.TextOptions{Brief: d.Shown, Diffs: true}
	if d.notes != nil {
		opt.News = slices.DeleteFunc(slices.Clone(plan.Notes),
			func(n report.Note) bool { return slices.Contains(d.notes, n) })
	}
	return d.f.Plan(plan, opt)
}
