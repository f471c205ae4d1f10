package daemon

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Times of what is seen as it happens.
const (
	repairDelay   = 300 * time.Microsecond // events of one change come together: before a repair of one key …
	debounce      = 3 * time.Millisecond   // … and before a pass
	passDelay     = 200 * time.Millisecond // after repairs of single keys a pass looks at everything …
	passDelayMost = 2 * time.Second        // … and so long after the first of them at most
	cpuBurst      = time.Second            // of a processor's time that passes may use without a pause …
	cpuShare      = 5                      // … before they get one in so many
	pollEvery     = 10 * time.Second       // what may change without an event is looked at this often …
	pollSoon      = 4 * time.Second        // … and where a source is lost, something drifts or others write, so often
)

// hostWatch is what the daemon watches of its host between passes, and polls because it cannot
// watch it. Without a watcher it has no list, so there is nothing to watch and to poll.
type hostWatch struct {
	watcher *watch.Watcher // nil: nothing is watched
	log     *zap.Logger
	budget  cpuBudget
	said    map[watch.Source]string // why a source cannot be watched, as it was logged

	list   []tasks.Task       // what the last pass worked towards
	facts  *host.Facts        // as they were when all was looked at last
	polled time.Time          // when what nothing tells of was looked at last
	drifts map[graph.Key]bool // what the last looks found not to be right, and no pass has made right since
	wakes  map[string]int64   // since the daemon began, by source
	opened host.Options
	others []host.WriterID // that write what the last pass left to them

	sources   []string                   // what has happened that no pass has looked at
	passAt    time.Time                  // when a pass is to look; zero: for nothing that happened
	awaited   bool                       // that pass looks at all that happens until then
	converged *reconcile.Converged       // what the last pass left; nil: it takes a pass to repair anything
	owners    map[eventName][]tasks.Task // whom of its tasks an event names; nil: not made yet
	repaired  []report.Step              // without a pass, since the last one
	first     time.Time                  // when the first of these was
}

// eventName is a thing as an event names it.
type eventName struct {
	source watch.Source
	name   string
}

func newHostWatch(watcher *watch.Watcher, opt host.Options, log *zap.Logger) *hostWatch {
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
	if w.watcher == nil {
		return
	}
	if pass.CacheOnly {
		pass.Host.Facts = w.facts
	}
	pass.Before = w.converged
	w.converged, w.owners = nil, nil
	pass.OnConverged = func(c *reconcile.Converged) {
		if w.converged = c; len(c.Tasks()) <= reconcile.ReadyAtOnce {
			w.indexOwners() // no event has to wait for it
		}
	}
}

// watch hears from now on what happens to what a pass works towards.
func (w *hostWatch) watch(list []tasks.Task, facts *host.Facts) {
	if w.watcher == nil {
		return
	}
	w.list, w.facts = list, facts
	w.watcher.Set(w.interest())
	w.logUnwatched()
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
			w.log.Warn("cannot watch what changes: it is looked at every few seconds",
				zap.String("what", string(source)), zap.Error(err))
		}
	}
	for source := range w.said {
		if lost[source] == nil {
			delete(w.said, source)
			w.log.Info("what changes is watched again", zap.String("what", string(source)))
		}
	}
}

// events has something to receive after an event, unless a pass looks soon.
func (w *hostWatch) events() <-chan struct{} {
	if w.watcher == nil || w.awaited {
		return nil
	}
	return w.watcher.Events()
}

// watchesAll says that whatever can be watched is watched, and that a pass left everything right.
func (w *hostWatch) watchesAll() bool {
	return w.converged != nil && len(w.watcher.Unwatched()) == 0
}

// takeEvents takes all events that have come. owners are the tasks of the last pass that own what
// the events name, and direct says that nothing else is named. pass says that a pass has to look
// all the same, since facts depend on what changed.
func (w *hostWatch) takeEvents() (owners []tasks.Task, direct, pass bool) {
	direct = w.converged != nil && w.budget.pause() == 0
	for _, e := range w.watcher.Take() {
		w.wakes[string(e.Source)] += int64(e.Events)
		w.sources = append(w.sources, string(e.Source))
		if inFacts(e.Source) {
			w.facts, pass = nil, true
		}
		direct = direct && !e.Lost && len(e.Names) > 0
		for _, name := range e.Names {
			if e.Source == watch.Files && hostfs.StagedHere(path.Base(name)) {
				continue // by a repair, beside its file
			}
			of := w.named(eventName{e.Source, name})
			direct = direct && len(of) > 0
			owners = append(owners, of...)
		}
		w.log.Debug("something happened on the host", zap.String("source", string(e.Source)),
			zap.Int("events", e.Events), zap.String("last", e.Last), zap.Bool("lost", e.Lost))
	}
	return owners, direct, pass
}

// named are the tasks that own what an event names.
func (w *hostWatch) named(what eventName) []tasks.Task {
	if w.owners == nil && w.converged != nil {
		w.indexOwners()
	}
	return w.owners[what]
}

// indexOwners finds out whom of its tasks an event names.
func (w *hostWatch) indexOwners() {
	w.owners = map[eventName][]tasks.Task{}
	for _, t := range w.converged.Tasks() {
		tasks.InterestOf([]tasks.Task{t}).Names(func(source watch.Source, name string) {
			at := eventName{source, name}
			w.owners[at] = append(w.owners[at], t)
		})
	}
}

// ask has a pass look at what has happened: soon, and not too often.
func (w *hostWatch) ask() {
	w.awaited, w.passAt = true, time.Now().Add(max(debounce, w.budget.pause()))
}

// repairedSome notes what was repaired without a pass. One looks at everything when nothing more
// happens, or when that takes long.
func (w *hostWatch) repairedSome(steps []report.Step) {
	now := time.Now()
	if len(w.repaired) == 0 {
		w.first = now
	}
	w.repaired = append(w.repaired, steps...)
	if w.passAt = now.Add(passDelay); w.passAt.After(w.first.Add(passDelayMost)) {
		w.passAt = w.first.Add(passDelayMost)
	}
}

// withRepairs puts into the plan of a pass what was repaired since the one before, for those who
// are told of it.
func (w *hostWatch) withRepairs(p *report.Plan) *report.Plan {
	if p == nil || len(w.repaired) == 0 {
		return p
	}
	with := *p
	with.Steps = slices.Concat(w.repaired, p.Steps)
	w.repaired = nil
	return &with
}

// take takes all events that have come, for a pass that is about to look.
func (w *hostWatch) take() trigger {
	w.takeEvents()
	sources := w.sources
	w.sources, w.passAt, w.awaited = nil, time.Time{}, false
	return drifted(sources)
}

// inFacts says that facts are made of what a source hears of: links, who runs, modules, policies of
// forwarding. Of files, rules and sysctls it hears only what tasks own, which is no fact. Nor is
// the time.
func inFacts(s watch.Source) bool {
	return s != watch.Files && s != watch.Rules && s != watch.Sysctls && s != watch.Clock
}

// drifted is the trigger of what only the host can have changed.
func drifted(sources []string) trigger {
	if len(sources) == 0 {
		sources = []string{"host"}
	}
	slices.Sort(sources)
	sources = slices.Compact(sources)
	return trigger{cause: "drift (" + strings.Join(sources, ", ") + ")", cacheOnly: true, event: true}
}

// untilPoll is how long it is until what nothing tells of is to be looked at: never where there is
// nothing.
func (w *hostWatch) untilPoll() time.Duration {
	if len(w.list) == 0 {
		return never
	}
	return until(host.NextTick(w.polled, w.pollPause()))
}

// look plans what nothing tells of, and says whether any of it is not as it should be, and was at
// the last look or has been made right since: what a pass leaves as it is, is no news. What cannot
// be planned is left to the next pass, which says why.
func (w *hostWatch) look(ctx context.Context) (news bool) {
	w.polled = time.Now()
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
		key := t.Owns()[0]
		if !tasks.NeedsPolling(t, lost) {
			delete(w.drifts, key)
			continue
		}
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

// pollPause is how long it is from one look to the next.
func (w *hostWatch) pollPause() time.Duration {
	if len(w.drifts)+len(w.others)+len(w.watcher.Unwatched()) > 0 {
		return pollSoon
	}
	return pollEvery
}

// ended notes what a pass has made right.
func (w *hostWatch) ended(p *report.Plan) {
	if p == nil {
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

func (w *hostWatch) close() {
	if w.watcher == nil {
		return
	}
	if err := w.watcher.Close(); err != nil {
		w.log.Warn("the watches of the host did not end well", zap.Error(err))
	}
}
