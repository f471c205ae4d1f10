package watch

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
)

// Source is the part of the host in which something happened.
type Source string

// tooMany is the name in an event that stands for lost events.
const tooMany = "too many events"

// maxNames limits the names that are stored for one source until Take.
const maxNames = 16

// The sources of a [Watcher].
const (
	Files     Source = "files"
	Links     Source = "links"
	Addresses Source = "addresses"
	Routes    Source = "routes"
	Rules     Source = "rules"
	Sysctls   Source = "sysctls"
	NFT       Source = "nft"
	Modules   Source = "modules"
	Mounts    Source = "mounts"
	Units     Source = "units"
	Clock     Source = "clock" // it was set
)

// Event says that something of an [Interest] may have changed. It is only a reason to look: events
// may come late, twice, or for the agent's own changes, and are lost if there are too many.
type Event struct {
	Source Source
	Events int    // number of events joined to this one
	Last   string // name of the last one: a path, a link, a unit
	// Names are the names of the events, each once, as in [Interest.Names]; nil: there were too
	// many.
	Names []string
	Lost  bool // events may be missing: anything of the source may have changed
}

// Watcher notices changes, by any process, to the things of an [Interest], and sends events. It
// changes nothing, and reads only what it needs to know what to watch. It costs something only for
// events: without any, its goroutines sleep.
//
// It cannot notice what the kernel does not report: most sysctls if a container writes them through
// its own procfs; ip_tables; a write through a memory map or another hard link; the mode, the owner
// and the attributes of a directory on which a file system is mounted; any change of a file on
// which another file is mounted. So it does not replace regular looks at everything.
type Watcher struct {
	events  chan struct{}
	sources []source

	mu        sync.Mutex
	pending   map[Source]*Event
	unwatched map[Source]error

	setting  sync.Mutex // for Set and Close
	interest *Interest
	ways     *nextHops // nil: routes are not watched
	closed   bool
}

// source watches one part of the host. Its methods are not called concurrently.
type source interface {
	// set replaces the interest. It opens what is not open or was lost; it need not open what the
	// interest does not need.
	set(*Interest) error
	close() error
	name() Source
}

// Set replaces the interest. It may be called at any time. With the same interest it retries
// sources that could not be watched. Changes before Set returns may go unnoticed, so a caller that
// sets another interest must look once afterwards. changed says that the interest differs from the
// one before.
func (w *Watcher) Set(i Interest) (changed bool) {
	w.setting.Lock()
	defer w.setting.Unlock()
	if w.closed {
		return false
	}
	if w.ways != nil {
		i.Routes = w.ways.find(i.Routes)
	}
	same := w.interest != nil && w.interest.same(i)
	w.interest = &i
	for _, s := range w.sources {
		if !same || w.isUnwatched(s.name()) {
			w.note(s.name(), s.set(&i))
		}
	}
	return !same
}

// Events has a value to receive if there are events that [Watcher.Take] has not returned yet.
func (w *Watcher) Events() <-chan struct{} { return w.events }

// Take returns the events since its last call, by source. Call it before a look at the host: later
// changes cause new events.
func (w *Watcher) Take() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.events:
	default:
	}
	var out []Event
	for _, p := range w.pending {
		out = append(out, *p)
	}
	clear(w.pending)
	slices.SortStableFunc(out, func(a, b Event) int { return cmp.Compare(a.Source, b.Source) })
	return out
}

// Unwatched returns the sources that cannot be watched now, and why. The caller must look at their
// things itself.
func (w *Watcher) Unwatched() map[Source]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.unwatched)
}

// Close stops watching and waits until all has ended.
func (w *Watcher) Close() error {
	w.setting.Lock()
	defer w.setting.Unlock()
	w.closed = true
	var errs []error
	for _, s := range w.sources {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

func (w *Watcher) isUnwatched(source Source) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unwatched[source] != nil
}

// trigger adds an event. Sources call it from any goroutine; it does not block.
func (w *Watcher) trigger(source Source, what string, lost bool) {
	w.mu.Lock()
	p := w.pending[source]
	if p == nil {
		p = &Event{Source: source}
		w.pending[source] = p
	}
	p.Events++
	p.Last, p.Lost = what, p.Lost || lost
	switch {
	case slices.Contains(p.Names, what):
	case p.Events > 1 && len(p.Names) == 0: // there were too many
	case len(p.Names) == maxNames:
		p.Names = nil
	default:
		p.Names = append(p.Names, what)
	}
	w.mu.Unlock()
	select {
	case w.events <- struct{}{}:
	default:
	}
}

// note records whether a source can be watched.
func (w *Watcher) note(source Source, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.unwatched, source)
		return
	}
	w.unwatched[source] = err
}

// lose records that a source has ended by itself: the next Set opens it again.
func (w *Watcher) lose(source Source, err error) {
	w.note(source, err)
	w.trigger(source, err.Error(), true)
}
