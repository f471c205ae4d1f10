package watch

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Interest is what a [Watcher] listens for. It names things and not their values: what they should
// be like is looked at by whoever is woken.
type Interest struct {
	Paths     []string // files, directories, symlinks: what is at the path, and whatever replaces a directory above it
	Lists     []string // directories of which every name matters
	Links     []string // links, their addresses of [Interest.Addresses] apart
	Addresses []netip.Addr
	Routes    []rtnl.Route // by table and destination
	Rules     []rtnl.Rule  // by family and priority
	Tables    []firewall.TableName
	Forward   bool     // chains at the forward hook, of nf_tables
	Sysctls   []string // in dotted form; who writes one unheard is said at [SysctlNotifies]
	Modules   []string
	Mounts    []string
	Units     []string
}

// Source is what woke: the part of the host that something happened in.
type Source string

// tooMany is what an event is about that stands for those that were lost.
const tooMany = "too many events"

// maxNames bounds what is kept of the events of one source until somebody takes them.
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
	Clock     Source = "clock" // somebody set it
)

// Event says that something of an [Interest] may have changed. It is a reason to look and no more:
// events come late, twice, for one's own changes, and are lost when there are too many.
type Event struct {
	Source Source
	Events int    // how many were folded into this one
	Last   string // what the last one was about: a path, a link, a unit
	// Names are what they were about, each once, as [Interest.Names] has them; nil: there were too
	// many to say.
	Names []string
	Lost  bool // events were lost, or could not come: anything of this source may have changed
}

// Watcher hears what happens to the things of an [Interest], from whichever process, and wakes. It
// changes nothing and reads only what it must to know what to listen to. Its costs are those of the
// events: without any, its goroutines sleep.
//
// What the kernel tells nobody of it cannot hear: most sysctls where a container writes them
// through a procfs of its own, ip_tables, a write through a memory map or another hard link,
// extended attributes of what a directory above is mounted over. So it is an addition to looking at
// everything now and then, and not a replacement.
type Watcher struct {
	events  chan struct{}
	sources []source

	mu        sync.Mutex
	pending   map[Source]*Event
	unwatched map[Source]error

	setting  sync.Mutex // Set and Close
	interest *Interest
	ways     *nextHops // nil: there are no routes to hear of
	closed   bool
}

// source hears one part of the host. Its methods are called by one goroutine at a time.
type source interface {
	// set replaces what is listened for. What is not open yet, or was lost, is opened; what nobody
	// is interested in need not be.
	set(*Interest) error
	close() error
	name() Source
}

// Set replaces what is listened for. It may be called at any time, with the same interest too: then
// what could not be heard is tried again. What happened before Set returns may have gone unheard,
// so whoever sets another interest looks once more afterwards. Changed says that it is another one.
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

// same says that two interests are of the same things, in the same order.
func (i Interest) same(o Interest) bool {
	return i.Forward == o.Forward && slices.Equal(i.Paths, o.Paths) && slices.Equal(i.Lists, o.Lists) &&
		slices.Equal(i.Links, o.Links) &&
		slices.Equal(i.Addresses, o.Addresses) && slices.Equal(i.Routes, o.Routes) && slices.Equal(i.Rules, o.Rules) &&
		slices.Equal(i.Tables, o.Tables) &&
		slices.Equal(i.Sysctls, o.Sysctls) && slices.Equal(i.Modules, o.Modules) && slices.Equal(i.Mounts, o.Mounts) &&
		slices.Equal(i.Units, o.Units)
}

// Events has something to receive after an event that [Watcher.Take] has not taken yet.
func (w *Watcher) Events() <-chan struct{} { return w.events }

// Take returns what has happened since it was called last, by source. To be called before the host
// is looked at: what happens from then on wakes again.
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

// Unwatched are the sources that cannot be heard now, and why. Their things have to be looked at.
func (w *Watcher) Unwatched() map[Source]error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.unwatched)
}

// Close ends all listening, and returns when it has ended.
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

// trigger is what a source calls, from any goroutine; it does not block.
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

// note notes whether a source can be heard.
func (w *Watcher) note(source Source, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.unwatched, source)
		return
	}
	w.unwatched[source] = err
}

// lose is what a source calls that has ended by itself: the next Set opens it again.
func (w *Watcher) lose(source Source, err error) {
	w.note(source, err)
	w.trigger(source, err.Error(), true)
}
