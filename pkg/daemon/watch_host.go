package daemon

import (
	"context"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/watch"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Times of the reaction to events.
const (
	repairDelay   = 300 * time.Microsecond // events of one change are collected: so long before a repair …
	debounce      = 3 * time.Millisecond   // … and so long before a pass
	passDelay     = 200 * time.Millisecond // a pass follows repairs of single keys, so long after the last …
	passDelayMost = 2 * time.Second        // … and at most so long after the first
	cpuBurst      = time.Second            // processor time that passes may use without a pause …
	cpuShare      = 5                      // … before they get 1/cpuShare of a processor
	pollEvery     = 10 * time.Second       // how often the daemon polls what has no events …
	pollSoon      = 4 * time.Second        // … and where a source is lost, a key drifts or another program writes
)

// hostWatch watches the host between passes, and polls what has no events. Without a watcher its
// list is empty, and it neither watches nor polls.
type hostWatch struct {
	watcher *watch.Watcher // nil: nothing is watched
	log     *zap.Logger
	budget  cpuBudget
	said    map[watch.Source]string // the logged reason why a source cannot be watched

	list   []tasks.Task       // the tasks of the last pass
	facts  *host.Facts        // of the last look at the whole host; nil: the next pass gathers them
	shared map[string]bool    // files of other programs beside which tasks make settings: facts come from these files
	polled time.Time          // when the host was last polled
	drifts map[graph.Key]bool // keys that the last polls found wrong, and that no pass has repaired since
	wakes  map[string]int64   // events since the daemon began, by source
	opened host.Options
	others []host.WriterID // processes that write keys which the last pass left to them

	sources   []string                   // of the events that no pass has looked at
	passAt    time.Time                  // when a pass is due for events; zero: none is
	awaited   bool                       // a pass for events is due: further events wait for it
	converged *reconcile.Converged       // the state after the last pass; nil: only a pass can repair
	owners    map[eventName][]tasks.Task // the tasks whose keys an event names; nil: not indexed yet
	repaired  []report.Step              // repairs since the last pass
	first     time.Time                  // when the first of these repairs was made
}

// eventName is the source and name in an event.
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

// subscribe adds hooks to a pass that record its result for repairs. It gives a pass with CacheOnly
// the facts of the pass before. The watch begins before the pass looks at the host, so no change
// between the two is missed.
func (w *hostWatch) subscribe(pass *reconcile.Pass) {
	if w.watcher == nil {
		return
	}
	if pass.CacheOnly {
		pass.Host.Facts = w.facts
	}
	pass.Before = w.converged.Ledger()
	w.converged, w.owners = nil, nil
	pass.OnConverged = func(c *reconcile.Converged) {
		if w.converged = c; len(c.Tasks()) <= reconcile.ReadyAtOnce {
			w.indexOwners() // so the first event need not wait for the index
		}
	}
}

// watch watches the host for changes of what the tasks of a pass own.
func (w *hostWatch) watch(list []tasks.Task, seen *host.Facts) {
	if w.watcher == nil {
		return
	}
	w.list, w.facts, w.shared = list, seen, map[string]bool{}
	for _, t := range list {
		switch t := t.(type) {
		case tasks.TOMLKey:
			w.shared[t.Path] = true
		case tasks.File:
			if path.Base(t.Path) == facts.OwnTOML && seen != nil {
				w.shared[seen.Runtime.ConfigFile] = true
			}
		}
	}
	w.watcher.Set(w.interest())
	w.logUnwatched()
}

// interest returns what to watch: what the tasks own, the files that facts come from, the node's
// links, whose MTU is that of pods, with their addresses and the default route, and the units of
// services that configure the host's network, because the start of such a service changes which
// tasks there are.
func (w *hostWatch) interest() watch.Interest {
	i := tasks.InterestOf(w.list)
	for _, file := range slices.Sorted(maps.Keys(w.shared)) {
		if !slices.Contains(i.Paths, file) {
			i.Paths = append(i.Paths, file)
		}
	}
	if w.facts != nil {
		i.Holders = map[string][]netip.Addr{}
		for _, l := range w.facts.NodeLinks() {
			i.Holders[l.Name] = nil
			for _, p := range l.Addresses {
				i.Holders[l.Name] = append(i.Holders[l.Name], p.Addr())
			}
		}
		i.Default = watch.DefaultRoute{Link: w.facts.Uplink, IPv6: w.facts.Address.Is6()}
		i.Units = append(i.Units, slices.Sorted(maps.Keys(w.facts.Services))...)
	}
	return i
}

// logUnwatched logs each source that cannot be watched once, and again when it can.
func (w *hostWatch) logUnwatched() {
	lost := w.watcher.Unwatched()
	for source, err := range lost {
		if w.said[source] != err.Error() {
			w.said[source] = err.Error()
			w.log.Warn("the host cannot be watched for changes: the daemon looks every few seconds",
				zap.String("what", string(source)), zap.Error(err))
		}
	}
	for source := range w.said {
		if lost[source] == nil {
			delete(w.said, source)
			w.log.Info("the host is watched for changes again", zap.String("what", string(source)))
		}
	}
}

// events receives after an event, unless a pass for events is due already.
func (w *hostWatch) events() <-chan struct{} {
	if w.watcher == nil || w.awaited {
		return nil
	}
	return w.watcher.Events()
}

// watchesAll reports that every source is watched, and that the last pass left everything right.
func (w *hostWatch) watchesAll() bool {
	return w.converged != nil && len(w.watcher.Unwatched()) == 0
}

// takeEvents takes all events that have come. owners are the tasks of the last pass that own what
// the events name. direct reports that the events name nothing else, so that a repair of the owners
// is enough. pass reports that a pass is needed all the same, because facts depend on what changed.
func (w *hostWatch) takeEvents() (owners []tasks.Task, direct, pass bool) {
	direct = w.converged != nil && w.budget.pause() == 0
	for _, e := range w.watcher.Take() {
		w.wakes[string(e.Source)] += int64(e.Events)
		w.sources = append(w.sources, string(e.Source))
		if inFacts(e.Source) || w.inShared(e) {
			w.facts, pass = nil, true
		}
		direct = direct && !e.Lost && len(e.Names) > 0
		for _, name := range e.Names {
			if e.Source == watch.Files && hostfs.StagedHere(path.Base(name)) {
				continue // a repair staged it beside its file
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

// named returns the tasks that own what an event names.
func (w *hostWatch) named(what eventName) []tasks.Task {
	if w.owners == nil && w.converged != nil {
		w.indexOwners()
	}
	return w.owners[what]
}

// indexOwners indexes the tasks of the last pass by what events name.
func (w *hostWatch) indexOwners() {
	w.owners = map[eventName][]tasks.Task{}
	for _, t := range w.converged.Tasks() {
		tasks.InterestOf([]tasks.Task{t}).Names(func(source watch.Source, name string) {
			at := eventName{source, name}
			w.owners[at] = append(w.owners[at], t)
		})
	}
}

// ask has a pass made for the events, soon and within the CPU budget.
func (w *hostWatch) ask() {
	w.awaited, w.passAt = true, time.Now().Add(max(debounce, w.budget.pause()))
}

// repairedSome records repairs without a pass. A pass looks at everything passDelay after the last
// of them, or passDelayMost after the first.
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

// withRepairs returns the plan of a pass with the repairs since the pass before, for the observers.
func (w *hostWatch) withRepairs(p *report.Plan) *report.Plan {
	if p == nil || len(w.repaired) == 0 {
		return p
	}
	with := *p
	with.Steps = slices.Concat(w.repaired, p.Steps)
	w.repaired = nil
	return &with
}

// take takes all events for a pass that is about to begin, and returns its trigger.
func (w *hostWatch) take() trigger {
	w.takeEvents()
	sources := w.sources
	w.sources, w.passAt, w.awaited = nil, time.Time{}, false
	return drifted(sources)
}

// inFacts reports whether events of a source can change facts, which come from links, running
// processes, modules and forwarding policies. The sources of files, rules and sysctls report only
// what tasks own, which is no fact, except in files of other programs: see inShared. Nor is the
// clock.
func inFacts(s watch.Source) bool {
	return s != watch.Files && s != watch.Rules && s != watch.Sysctls && s != watch.Clock
}

// inShared reports whether an event may be about a file of another program that facts come from,
// such as containerd's own: its version decides where the agent's keys belong.
func (w *hostWatch) inShared(e watch.Event) bool {
	return e.Source == watch.Files && len(w.shared) > 0 && (e.Lost || len(e.Names) == 0 ||
		slices.ContainsFunc(e.Names, func(name string) bool { return w.shared[name] }))
}

// drifted returns the trigger for changes that the kernel or systemd reported. They may be the
// agent's own.
func drifted(sources []string) trigger {
	if len(sources) == 0 {
		sources = []string{"host"}
	}
	slices.Sort(sources)
	sources = slices.Compact(sources)
	return trigger{cause: "the host changed: " + strings.Join(sources, ", "), cacheOnly: true, event: true}
}

// untilPoll returns how long it is until the next poll: never where there are no tasks.
func (w *hostWatch) untilPoll() time.Duration {
	if len(w.list) == 0 {
		return never
	}
	return until(host.NextTick(w.polled, w.pollPause()))
}

// look plans the tasks that events do not cover. It reports news where one of them is wrong that
// was right at the last poll, or that a pass has repaired since: a difference that passes leave is
// no news. A task that cannot be planned is left to the next pass, which reports why.
func (w *hostWatch) look(ctx context.Context) (news bool) {
	w.polled = time.Now()
	lost := w.watcher.Unwatched()
	if len(lost) > 0 { // try to watch them again
		w.watcher.Set(w.interest())
		w.logUnwatched()
		lost = w.watcher.Unwatched()
	}
	opt := w.opened
	opt.Facts = w.facts
	view, err := host.OpenView(ctx, opt)
	if err != nil {
		return false // the next pass reports it
	}
	defer view.Close() // a view writes nothing: no error matters
	running := slices.DeleteFunc(slices.Clone(w.others), func(by host.WriterID) bool { return !by.Runs() })
	if len(running) < len(w.others) { // one has ended: a pass repairs its keys now
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
		if news && inFacts(source) { // events about facts may have been lost
			w.facts = nil
		}
	}
	return news
}

// pollPause returns the time between two polls.
func (w *hostWatch) pollPause() time.Duration {
	if len(w.drifts)+len(w.others)+len(w.watcher.Unwatched()) > 0 {
		return pollSoon
	}
	return pollEvery
}

// ended removes from drifts the keys that a pass has made right, and records the processes to
// which it left keys.
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
		w.log.Warn("the watches of the host ended with an error", zap.Error(err))
	}
}
