package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/netns"
)

// watchedHook is a good change with a hook that is watched for a time, as from a process that ended since.
func watchedHook(t *testing.T, h *host.Host, s Settings, length time.Duration) *watch {
	t.Helper()
	c, err := Take(t.Context(), h, hook(t), s)
	if err == nil {
		err = c.Arm(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.journal.watched(t.Context(), h, length)
	if err != nil || w == nil {
		t.Fatalf("nothing to watch: %v", err)
	}
	if err := w.begin(t.Context(), h, c.program); !errors.Is(err, host.ErrNotHere) { // no systemd runs here
		t.Fatal(err)
	}
	if err := h.RemoveDurably(JournalFile); err != nil {
		t.Fatal(err)
	}
	return w
}

// A good change is undone if its hook costs the node the gateway and the store later: also by a process
// that comes after one that was killed in the middle of it. A store alone, and a gateway alone, are no
// reason. The lines that keep it: watch.go, Watch, lost, undo and end.
func TestWatch(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	good, cut := "ip route replace default via 10.0.0.1", "ip route replace default via 10.0.0.66"
	for _, c := range []struct {
		name, does   string
		storeAnswers func() error
		length       time.Duration
		undone       bool
	}{
		{"nothing", "", func() error { return nil }, 2 * time.Second, false},
		{"the gateway alone", cut, func() error { return nil }, 2 * time.Second, false},
		{"the store alone", "", func() error { return errors.New("no store") }, 2 * time.Second, false},
		{"both", cut, func() error { return reaches(t.Context(), netip.Addr{}) }, 6 * time.Second, true},
		{"both, and killed in the middle", cut, func() error { return reaches(t.Context(), netip.Addr{}) }, 6 * time.Second, true},
	} {
		s, broken := settings(), false
		s.Store = StoreProbe("https://store", "c")
		s.Means.Store = func(context.Context, string, string) error {
			if !broken {
				return nil
			}
			return c.storeAnswers()
		}
		watchedHook(t, h, s, c.length)
		if c.does != "" {
			sh(t, c.does)
		}
		broken = true
		if c.name == "both, and killed in the middle" {
			killed := s
			killed.Record = func(context.Context, *host.Host, json.RawMessage, Verdict) error { return errors.New("killed") }
			if err := Watch(t.Context(), h, killed); err == nil {
				t.Error("not killed")
			}
		}
		if err := Watch(t.Context(), h, s); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if v := lastVerdict(h); (v != nil && v.Bad) != c.undone {
			t.Errorf("%s: verdict %+v", c.name, v)
		}
		left := []string{VerdictFile}
		if !c.undone {
			left = nil
			sh(t, good)
		}
		unchanged(t, was, left...)
		sh(t, "rm -rf /run/recorded "+Dir)
	}
}

// Other passes leave a watch alone; a change by another generation, a checkpoint and a boot end it.
// The lines that keep it: watch.go, EndWatch and over; arm.go, sweep and Take.
func TestWatchEnds(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	there := func() bool { _, err := os.Stat(WatchFile); return err == nil }
	for _, c := range []struct {
		name string
		does func() error
		ends bool
	}{
		{"the next pass", func() error { _, err := Undo(t.Context(), h, settings()); return err }, false},
		{"the same generation", func() error { return EndWatch(t.Context(), h, "d7") }, false},
		{"another generation", func() error { return EndWatch(t.Context(), h, "d8") }, true},
		{"another checkpoint", func() error {
			_, err := Take(t.Context(), h, Change{Digest: "d7", Keys: changed[:1]}, settings())
			return err
		}, true},
		{"its end", func() error { return Watch(t.Context(), h, settings()) }, true},
		{"a boot", func() error {
			w := watching(h)
			w.Journal.Boot, w.UntilUS = "another", w.UntilUS+uint64(time.Hour/time.Microsecond)
			return errors.Join(save(t.Context(), h, WatchFile, w), Watch(t.Context(), h, settings()))
		}, true},
	} {
		watchedHook(t, h, settings(), time.Second)
		if c.name != "its end" && c.name != "a boot" {
			watchedHook(t, h, settings(), time.Minute)
		}
		if err := c.does(); err != nil || there() == c.ends {
			t.Errorf("%s: %v; the watch is there: %v", c.name, err, there())
		}
		if err := EndWatch(t.Context(), h, ""); err != nil {
			t.Error(err)
		}
		sh(t, "rm -rf "+Dir+"/agent")
		unchanged(t, was)
	}
}
