package watch

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// watching makes a watcher with an interest.
func watching(t *testing.T, opt Options, i Interest) *Watcher {
	t.Helper()
	w := New(opt)
	t.Cleanup(func() { noError(t, w.Close()) })
	w.Set(i)
	if deaf := w.Unwatched(); len(deaf) > 0 {
		t.Fatalf("deaf: %v", deaf)
	}
	return w
}

// awaitWake waits until a source has reported an event, and returns all events until then.
func awaitWake(t *testing.T, w *Watcher, source Source, what string) map[Source]Event {
	t.Helper()
	all := map[Source]Event{}
	late := time.After(time.Minute) // for a test that fails
	for {
		select {
		case <-w.Events():
		case <-late:
			t.Fatalf("nobody woke for %s %q; only %v", source, what, all)
		}
		for _, k := range w.Take() {
			k.Events += all[k.Source].Events
			all[k.Source] = k
		}
		if got, heard := all[source]; heard && (what == "" || got.Last == what) {
			return all
		}
	}
}

// fenced calls do, and then something of the same source that causes one event: the fence. It
// returns how many events do caused, since the kernel reports both in order.
func fenced(t *testing.T, w *Watcher, source Source, fence string, do, then func()) int {
	t.Helper()
	do()
	then()
	return awaitWake(t, w, source, fence)[source].Events - 1
}

// onlyOf fails if another source than these has reported an event.
func onlyOf(t *testing.T, got map[Source]Event, want ...Source) {
	t.Helper()
	if have := slices.Sorted(maps.Keys(got)); !slices.Equal(have, want) {
		t.Errorf("woken by %v, want %v: %v", have, want, got)
	}
}

func TestTheSameInterestIsNone(t *testing.T) {
	w := New(Options{Root: t.TempDir()})
	i := Interest{Paths: []string{"/etc/a"}, Sysctls: []string{"net.ipv4.ip_forward"}}
	for n, want := range []bool{true, false} {
		if got := w.Set(i); got != want {
			t.Errorf("set %d: changed is %v", n, got)
		}
	}
	i.Forward = true
	if !w.Set(i) {
		t.Error("another interest is taken for the same")
	}
	noError(t, w.Close())
	noError(t, w.Close())
	if w.Set(Interest{}) {
		t.Error("it listens after its end")
	}
}

// An event names each thing once. If there were too many to name, it names none.
func TestAnEventNamesWhatItIsAbout(t *testing.T) {
	w := New(Options{Root: t.TempDir()})
	for _, name := range []string{"/a", "/b", "/a"} {
		w.trigger(Files, name, false)
	}
	w.trigger(Links, "cbr0", false)
	got := w.Take()
	if len(got) != 2 || !slices.Equal(got[0].Names, []string{"/a", "/b"}) || got[0].Events != 3 || !slices.Equal(got[1].Names, []string{"cbr0"}) {
		t.Errorf("Take returns %+v", got)
	}
	for i := range maxNames + 2 {
		w.trigger(Files, fmt.Sprint(i), false)
	}
	if got := w.Take(); len(got) != 1 || got[0].Names != nil {
		t.Errorf("of %d things it names %q", maxNames+2, got[0].Names)
	}
}
