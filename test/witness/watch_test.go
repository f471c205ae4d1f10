package witness

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A gap lies between two attempts that succeeded, if one between them failed, or if it goes on. A
// pause between attempts is no gap. The lines that keep it: watch.go, note and Gap (failing).
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Watch{now: time.Now, seen: map[string]*seen{"a": {last: time.Now()}, "b": {last: time.Now()}}}
		away := errors.New("away")
		note := func(name string, err error) {
			w.note(name, time.Now(), err)
			time.Sleep(time.Second)
		}
		gap := func(name string) time.Duration {
			longest, _ := w.Gap([]string{name})
			return longest
		}
		note("a", away) // not there yet: no gap
		note("a", nil)
		note("b", nil)
		note("a", nil)
		if got := gap("a"); got != 0 {
			t.Errorf("it always worked since it was there, and has a gap of %s", got)
		}
		note("a", away)
		note("a", away)
		note("a", nil)
		note("a", away)
		note("a", nil)
		if got := gap("a"); got != 3*time.Second {
			t.Errorf("it was away for 3 s and for 2 s, and has a gap of %s", got)
		}
		note("b", away)
		time.Sleep(time.Minute)
		if got := gap("b"); got < time.Minute {
			t.Errorf("it is away, and has a gap of %s", got)
		}
		lost := w.Await(t.Context(), []string{"a", "b"}, 30*time.Second)
		if len(lost) == 0 {
			t.Error("what is away for longer than the limit is not lost")
		}
	})
}
