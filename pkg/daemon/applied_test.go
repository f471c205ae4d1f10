package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/hostroot"
)

// trueGenerations checks the generations of a status. digest has the digest of each generation, by
// the content of a file in its documents.
func (b *box) trueGenerations(t *testing.T, s *report.Status, digest map[string]string, published, wanted, applied string) {
	t.Helper()
	c := s.Configuration
	for name, of := range map[string]struct {
		is   *report.Generation
		want string
	}{"published": {c.Published, published}, "wanted": {c.Wanted, wanted}, "applied": {c.Applied, applied}} {
		if of.is == nil || of.is.Digest != digest[of.want] {
			t.Errorf("%s is %+v, want that of %q (%.8s)", name, of.is, of.want, digest[of.want])
		}
	}
	if c.Digest != digest[applied] {
		t.Errorf("the configuration's digest is %.8s, want that of what is applied: %q", c.Digest, applied)
	}
}

// digestNow returns the digest of the store's documents.
func (b *box) digestNow(t *testing.T) string {
	t.Helper()
	d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Snapshot.Digest
}

// The published, the wanted and the applied generation are three values. They differ while a
// configuration waits, fails or is paused, and while the node is held at a revision. After a
// restart the daemon knows the applied generation before its first pass has ended. The lines that
// keep it: pkg/reconcile/record_applied.go.
func TestWhichGenerationIsApplied(t *testing.T) {
	b, publish := fleetNode(t)
	told, digest := &listener{}, map[string]string{}
	b.daemon.Observers = []Observer{told}
	put := func(t *testing.T, update, content string) {
		t.Helper()
		publish(t, update, content)
		digest[content] = b.digestNow(t)
		later(11 * time.Minute)
	}
	const free, auto = "{auto: restart, splay: 0s}", "{auto: live, splay: 0s}"
	b.live(t, func(t *testing.T) {
		put(t, free, "one")
		b.trueGenerations(t, told.last(), digest, "one", "one", "one")
		put(t, auto, "two") // this one waits
		b.trueGenerations(t, told.last(), digest, "two", "one", "one")
		put(t, free, "three")
		b.trueGenerations(t, told.last(), digest, "three", "three", "three")

		motd := filepath.Join(b.root, "etc/motd")
		if err := errors.Join(os.Remove(motd), os.MkdirAll(filepath.Join(motd, "in the way"), 0o755)); err != nil {
			t.Fatal(err)
		}
		put(t, free, "four")
		if s := told.last(); s.State != report.NodeFailing {
			t.Errorf("with something in the way it is %s", s.State)
		}
		b.trueGenerations(t, told.last(), digest, "four", "four", "three")
		if err := os.RemoveAll(motd); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		b.trueGenerations(t, told.last(), digest, "four", "four", "four")
	})
	pass := b.daemon.Pass
	pass.By = "alice"
	if _, err := pass.Rollback(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	again := &listener{}
	b.daemon.Observers, b.manager = []Observer{again}, &manager{}
	b.daemon.Manager = b.manager
	b.live(t, func(t *testing.T) {
		if first := again.all()[0]; first.Configuration.Applied == nil || first.Configuration.Applied.Digest != digest["one"] {
			t.Errorf("a daemon that begins says that applied is %+v", first.Configuration.Applied)
		}
		b.trueGenerations(t, again.last(), digest, "four", "one", "one") // the node is held
		if _, err := pass.Session().Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := pass.Session().Pause(t.Context(), time.Hour, "a new switch"); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		b.trueGenerations(t, again.last(), digest, "four", "four", "one")
		if _, err := pass.Session().Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		b.trueGenerations(t, again.last(), digest, "four", "four", "four")
	})
	h, err := history.Read(pass.Host)
	if err != nil {
		t.Fatal(err)
	}
	var acts []ledger.Act
	for _, d := range h.Actions {
		acts = append(acts, d.Act)
		if d.Time.IsZero() || d.By != "alice" && d.Act != ledger.Forward {
			t.Errorf("got %+v", d)
		}
	}
	if !slices.Equal(acts, []ledger.Act{ledger.RolledBack, ledger.Resumed, ledger.WasPaused, ledger.Resumed, ledger.Forward}) || h.Applied == nil || h.Applied.Digest != digest["four"] {
		t.Errorf("the history has %v, and that %+v is applied", acts, h.Applied)
	}
}

// A generation that wants what an earlier one wanted makes no revision. The history says when it
// came, and from which generation.
func TestARollForwardIsInTheHistory(t *testing.T) {
	b, publish := fleetNode(t)
	b.live(t, func(t *testing.T) {
		for _, content := range []string{"one", "two", "one"} {
			publish(t, "{auto: restart, splay: 0s}", content)
			later(11 * time.Minute)
		}
	})
	h, err := history.Read(b.daemon.Pass.Host)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Actions) != 1 || h.Actions[0].Act != ledger.Forward || h.Actions[0].Revision != h.Current {
		t.Errorf("at revision %d, the history has %+v", h.Current, h.Actions)
	}
}

// After a change of the store, the status names the store from which the applied configuration was
// read, until a pass with the new store's documents has ended. The lines that keep it:
// pkg/reconcile/record_applied.go, noteApplied (Store); pkg/report/status.go, from.
func TestTheStoreOfWhatIsApplied(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: restart, splay: 0s}", "one")
	b.live(t, func(*testing.T) {})
	before := b.daemon.Store.String()
	moved := filepath.Join(t.TempDir(), "moved")
	restart := func(source string) {
		t.Helper()
		store, err := stores.Open(moved, "demo", stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		told := &listener{}
		b.daemon.Store, b.daemon.Observers, b.manager = store, []Observer{told}, &manager{}
		b.daemon.Manager = b.manager
		b.live(t, func(t *testing.T) {
			s := told.last()
			var text strings.Builder
			err := report.StatusText(&text, report.StatusView{Status: s, Daemon: report.Daemon{Running: true}}, report.StatusOptions{Now: s.At})
			if err != nil || s.Configuration.Applied.Store != source || !strings.Contains(text.String(), ", from "+source) || strings.Contains(text.String(), "; the store is now "+store.String()) != (source == before) {
				t.Errorf("%v: the applied configuration is of %q, want %s:\n%s", err, s.Configuration.Applied.Store, source, &text)
			}
		})
	}
	hostroot.Put(t, moved, "/demo/readme", "") // the new store has no documents yet
	restart(before)
	if err := os.CopyFS(filepath.Join(moved, "demo"), os.DirFS(filepath.Join(b.store, "demo"))); err != nil {
		t.Fatal(err)
	}
	restart(filepath.Join(moved, "demo"))
}
