package daemon

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/reset"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// After a downgrade the agent meets the ledger of a later version. It repairs, prunes, takes and
// forgets nothing, and each command names the version and says what to do. With the right version
// all goes on as before. The lines that keep it: pkg/reconcile/session/session.go, LoadLedger;
// pkg/reconcile/session/recover.go, Recover.
func TestTheMemoryOfALaterVersionIsLeftAlone(t *testing.T) {
	b := newBox(t)
	b.document(t, b.plugins(t, "plugins.tar", "")+"  fileAssets: [{path: /etc/hello, content: one}, {path: /etc/gone, content: x}]\n")
	b.pass(t, false)
	later := func(text string) {
		t.Helper()
		hostroot.Put(t, b.root, ledger.FormatFile, text)
		hostroot.Put(t, b.root, "/var/lib/netwright/batch-AAAAAAAAAA-00000001.json", `{"version":9}`)
		if err := os.WriteFile(filepath.Join(b.root, "etc/hello"), []byte("by hand"), 0o440); err != nil {
			t.Fatal(err)
		}
	}
	b.document(t, b.plugins(t, "plugins.tar", "")+"  fileAssets: [{path: /etc/hello, content: two}]\n")
	d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	p := b.daemon.Pass
	for text, want := range map[string]string{
		"2 v9.9.9\n": `is of format "2", written by netwright v9.9.9, and this agent knows format 1: it changes nothing here, and the node stays as it is: install that version, or a later one, again`,
		"17":         `is of format "17", written by a later version of netwright`,
		"":           `is of format ""`,
		"{\"a\":1}":  `is of format "{\"a\":1}"`,
	} {
		later(text)
		before := hostroot.Tree(t, b.root)
		for what, do := range map[string]func() error{
			"a pass":     func() error { _, err := p.Converge(t.Context(), d); return err },
			"a dry run":  func() error { _, err := p.DryRun(t.Context(), d); return err },
			"a rollback": func() error { _, err := p.Rollback(t.Context(), 1); return err },
			"a reset":    func() error { _, err := reset.Reset{Session: p.Session()}.Run(t.Context()); return err },
			"a dry reset": func() error {
				_, err := reset.Reset{Session: p.Session()}.Plan(t.Context())
				return err
			},
			"a pause":  func() error { _, err := p.Session().Pause(t.Context(), time.Hour, "x"); return err },
			"a resume": func() error { _, err := p.Session().Resume(t.Context()); return err },
			"recover":  func() error { _, err := p.Session().Recover(t.Context()); return err },
			"history":  func() error { _, err := history.Read(p.Host); return err },
			"certs":    func() error { _, err := issue.List(p.Host, "n", time.Now()); return err },
		} {
			var newer *ledger.NewerError
			if err := do(); !errors.As(err, &newer) || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %s says %v; want %s", text, what, err, want)
			}
		}
		lasting := func(all map[string]string) map[string]string {
			maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "/run") })
			return all
		}
		if after := hostroot.Tree(t, b.root); !maps.Equal(lasting(after), lasting(before)) {
			t.Errorf("%q: the node was changed: %v, was %v", text, after, before)
		}
	}

	for _, name := range []string{ledger.FormatFile, "/var/lib/netwright/batch-AAAAAAAAAA-00000001.json"} {
		if err := os.Remove(filepath.Join(b.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	plan := b.pass(t, false)
	if got := hostroot.Read(t, b.root, "/etc/hello"); got != "two" || b.has("/etc/gone") || plan.Summary.Failed != 0 {
		t.Errorf("the right version goes on: %q, %+v", got, plan.Summary)
	}
	hostroot.Put(t, b.root, ledger.FormatFile, "1 v0.1.0\n") // the format of this version
	if plan := b.pass(t, false); plan.Summary.Changes() != 0 || len(plan.Notes) > 0 && strings.Contains(said(plan), "format") {
		t.Errorf("its own format: %v", plan)
	}
}

// An agent that writes a later format than 1 must write the format to the disk first. Otherwise an
// earlier agent misreads the ledger. This becomes due when [ledger.Format] is raised.
func TestTheFormatIsOnTheDisk(t *testing.T) {
	b := newBox(t)
	b.pass(t, false)
	format := "1" // the format without a file
	if b.has(ledger.FormatFile) {
		format, _, _ = strings.Cut(hostroot.Read(t, b.root, ledger.FormatFile), " ")
	}
	if want := strconv.Itoa(ledger.Format); format != want {
		t.Errorf("the disk says format %s after a pass of an agent of format %s: write %s, as `%[2]s VERSION`, before anything else of the ledger", format, want, ledger.FormatFile)
	}
}

// The daemon stays alive, says what is wrong, and lets kubelet start, as it does after any failure.
func TestADaemonOverALaterMemory(t *testing.T) {
	b := newBox(t)
	b.pass(t, false)
	hostroot.Put(t, b.root, ledger.FormatFile, "2 v9.9.9\n")
	heard := &listener{}
	b.daemon.Observers = []Observer{heard}
	b.live(t, func(t *testing.T) {
		later(time.Minute)
		if s := heard.last(); s.State != report.NodeFailing || !strings.Contains(s.Reason, "written by netwright v9.9.9") {
			t.Errorf("the status: %s: %s", s.State, s.Reason)
		}
		if err := os.Remove(filepath.Join(b.root, ledger.FormatFile)); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if s := heard.last(); s.State != report.NodeConverged {
			t.Errorf("when it can be read again: %s: %s", s.State, s.Reason)
		}
	})
}
