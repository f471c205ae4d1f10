package daemon

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Times of what is seen as it happens.
const (
	debounce  = 3 * time.Millisecond // events of one change come together
	cpuBurst  = time.Second          // of a processor's time that passes may use without a pause …
	cpuShare  = 5                    // … before they get one in so many
	pollEvery = 4 * time.Second      // what nothing tells of is looked at this often
)

// hostWatch is what the daemon watches of its host between passes, and polls because it cannot
// watch it. A nil one watches and polls nothing.
type hostWatch struct {
	watcher *watch.Watcher
	log     *zap.Logger
	budget  cpuBudget
	said    map[watch.Source]string // why a source cannot be watched, as it was logged

	list   []tasks.Task       // what the last pass worked towards
	facts  *host.Facts        // as they were when all was looked at last
	poll   time.Time          // when to look next
	drifts map[graph.Key]bool // what the last looks found not to be right, and no pass has made right since
	wakes  map[string]int64   // since the daemon began, by source
	opened host.Options
	others []host.WriterID // that write what the last pass left to them
}

func newHostWatch(watcher *watch.Watcher, opt host.Options, log *zap.Logger) *hostWatch {
	if watcher == nil {
		return nil
	}
	return &hostWatch{
		watcher: watcher, log: log, budget: cpuBudget{burst: cpuBurst, share: cpuShare, now: time.Now, used: host.Used},
		said: map[watch.Source]string{}, wakes: map[string]int64{},
		opened: opt, drifts: map[graph.Key]bool{},
	}
}

// subscribe makes a pass tell what it works towards, and gives one that goes by the cache the facts
// of the pass before. From then on, before the pass looks, what changes comes as an event: nothing
// lies between.
func (w *hostWatch) subscribe(pass *reconcile.Pass) {
	if w == nil {
		return
	}
	if pass.CacheOnly {
		pass.Host.Facts = w.facts
	}
	pass.Hooks.Built = func(_ *desired.State, list []tasks.Task, v host.View) {
		w.list, w.facts = list, v.Facts
		w.watcher.Set(w.interest())
		w.logUnwatched()
	}
}

// interest is what the tasks own, and the services that have a say in the host's network: that one
// of them begins to run asks for other tasks.
func (w *hostWatch) interest() watch.Interest {
	i := tasks.InterestOf(w.list)
	if w.facts != nil {
		i.Units = append(i.Units, slices.Sorted(maps.Keys(w.facts.Services))...)
	}
	return i
}

// logUnwatched logs what cannot be watched, once.
func (w *hostWatch) logUnwatched() {
	lost := w.watcher.Unwatched()
	for source, err := range lost {
		if w.said[source] != err.Error() {
			w.said[source] = err.Error()
			w.log.Warn("cannot hear what changes: it is looked at every few seconds",
				zap.String("what", string(source)), zap.Error(err))
		}
	}
	for source := range w.said {
		if lost[source] == nil {
			delete(w.said, source)
			w.log.Info("what changes is heard again", zap.String("what", string(source)))
		}
	}
}

// events has something to receive after an event.
func (w *hostWatch) events() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.watcher.Events()
}

// debounced is when to make a pass after an event: soon, and not too often.
func (w *hostWatch) debounced() <-chan time.Time { return time.After(max(debounce, w.budget.pause())) }

// take takes all events that have come, for a pass that is about to look.
func (w *hostWatch) take() trigger {
	var sources []string
	for _, e := range w.watcher.Take() {
		w.wakes[string(e.Source)] += int64(e.Events)
		sources = append(sources, string(e.Source))
		if inFacts(e.Source) {
			w.facts = nil
		}
		w.log.Debug("something happened on the host", zap.String("source", string(e.Source)),
			zap.Int("events", e.Events), zap.String("last", e.Last), zap.Bool("lost", e.Lost))
	}
	return drifted(sources)
}

// inFacts says that facts are made of what a source hears of: links, who runs, modules, policies of
// forwarding. Of files, rules and sysctls it hears only what tasks own, which is no fact.
func inFacts(s watch.Source) bool {
	return s != watch.Files && s != watch.Rules && s != watch.Sysctls
}

// drifted is the trigger of what only the host can have changed.
func drifted(sources []string) trigger {
	if len(sources) == 0 {
		sources = []string{"host"}
	}
	slices.Sort(sources)
	return trigger{cause: "drift (" + strings.Join(sources, ", ") + ")", cacheOnly: true, event: true}
}

// forget has the next pass gather the facts anew.
func (w *hostWatch) forget() {
	if w != nil {
		w.facts = nil
	}
}

// untilPoll is how long it is until what nothing tells of is to be looked at: very long where there
// is nothing.
func (w *hostWatch) untilPoll() time.Duration {
	if w == nil || len(w.list) == 0 {
		return time.Hour
	}
	return max(time.Until(w.poll), 0)
}

// look plans what nothing tells of, and says whether any of it is not as it should be, and was at
// the last look or has been made right since: what a pass leaves as it is, is no news. What cannot
// be planned is left to the next pass, which says why.
func (w *hostWatch) look(ctx context.Context) (news bool) {
	if w == nil {
		return false
	}
	w.poll = time.Now().Add(pollEvery)
	lost := w.watcher.Unwatched()
	if len(lost) > 0 { // another try
		w.watcher.Set(w.interest())
		w.logUnwatched()
		lost = w.watcher.Unwatched()
	}
	opt := w.opened
	opt.Facts = w.facts
	view, err := host.OpenView(ctx, opt)
	if err != nil {
		return false // the next pass says it
	}
	defer view.Close() // only read from
	running := slices.DeleteFunc(slices.Clone(w.others), func(by host.WriterID) bool { return !by.Runs() })
	if len(running) < len(w.others) { // what is left to one that is gone is repaired now
		w.wakes["poll"]++
		news = true
	}
	w.others = running
	for _, t := range w.list {
		if !tasks.NeedsPolling(t, lost) {
			continue
		}
		key := t.Owns()[0]
		c, err := t.Plan(ctx, view.View())
		drifts := err == nil && c != nil && c.NotApplicable == ""
		if drifts && !w.drifts[key] {
			w.wakes["poll"]++
			news = true
		}
		if w.drifts[key] = drifts; !drifts {
			delete(w.drifts, key)
		}
	}
	for source := range lost {
		if news && inFacts(source) { // facts may have changed, too
			w.facts = nil
		}
	}
	return news
}

// paced notes that a pass begins that an event asked for. What it returns notes, when it ends, what
// it cost.
func (w *hostWatch) paced() (spend func()) {
	if w == nil {
		return func() {}
	}
	return w.budget.begin()
}

// ended notes what a pass has made right.
func (w *hostWatch) ended(p *report.Plan) {
	if w == nil || p == nil {
		return
	}
	w.others = nil
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.State == report.Done || s.Repair {
			delete(w.drifts, graph.Key(s.Key))
		}
		if s.By.PID != 0 {
			w.others = append(w.others, s.By)
		}
	}
}

// eventCounts is how often each source has woken.
func (w *hostWatch) eventCounts() map[string]int64 {
	if w == nil {
		return nil
	}
	return maps.Clone(w.wakes)
}

func (w *hostWatch) close() {
	if w == nil {
		return
	}
	if err := w.watcher.Close(); err != nil {
		w.log.Warn("the watches of the host did not end well", zap.Error(err))
	}
}
