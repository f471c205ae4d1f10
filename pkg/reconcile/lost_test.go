package reconcile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/pki"
)

const journal = "var/lib/netwright/journal"

// whole returns a root with a ledger: one file of ours, one found file, and one file that a person
// changed since.
func whole(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	hostroot.Put(t, root, "/etc/found", "theirs")
	mustConverge(t, root, file("/etc/ours", "1"), file("/etc/found", "2"), file("/etc/edited", "1"))
	mustConverge(t, root, file("/etc/ours", "1"), file("/etc/found", "2"), file("/etc/edited", "1"), file("/etc/late", "1"))
	hostroot.Put(t, root, "/etc/edited", "a person's")
	return root
}

// keeps checks that nothing of others is gone, whatever happened to our files.
func keeps(t *testing.T, root, when string) {
	t.Helper()
	if !hostroot.There(root, "/etc/found") || hostroot.Read(t, root, "/etc/edited") != "a person's" {
		t.Errorf("%s: something of others was removed or changed", when)
	}
}

// A journal is cut short at any place, or one of its bits is changed. Neither makes a prune or a
// reset remove what is not ours. The lines that keep it: pkg/ledger/journal_lines.go, readLines;
// pkg/ledger/journal.go, lose; pkg/reset/reset.go, refuseReset.
func TestADamagedJournalHarmsNobody(t *testing.T) {
	root := whole(t)
	good := []byte(hostroot.Read(t, root, "/"+journal))
	type harm struct {
		what string
		text []byte
	}
	var harms []harm
	for i := range 12 {
		at := i * len(good) / 12
		flipped := bytes.Clone(good)
		flipped[at] ^= 4
		harms = append(harms, harm{"cut", good[:at]}, harm{"flipped", flipped})
	}
	harms = append(harms, harm{"torn", good[:len(good)-1]}, harm{"zeros", make([]byte, len(good))})
	for _, h := range harms {
		for _, verb := range []string{"prune", "reset"} {
			root := whole(t)
			if err := os.WriteFile(filepath.Join(root, journal), h.text, 0o600); err != nil {
				t.Fatal(err)
			}
			if verb == "prune" {
				mustConverge(t, root)
			} else {
				_, _ = resetOf(onRoot(root)).Run(t.Context()) // it may refuse
			}
			keeps(t, root, verb+" after the journal was "+h.what)
		}
	}
}

// Where the ledger is lost, a reset refuses before it changes anything, and names what it could
// concern. After the next pass it names what stays. The lines that keep it: pkg/reset/reset.go,
// refuseReset; pkg/reset/decide.go, decideRestoration (Lost); pkg/ledger/journal.go, lose.
func TestResetRefusesWithoutALedger(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":  os.Remove,
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"of the future": func(path string) error {
			return appendLines(path, "q {}", "h {}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := whole(t)
			if err := harm(filepath.Join(root, journal)); err != nil {
				t.Fatal(err)
			}
			before := hostroot.Tree(t, root)
			_, err := resetOf(onRoot(root)).Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), "file:/etc/ours") || !strings.Contains(err.Error(), "counts as found") {
				t.Errorf("reset: %v", err)
			}
			same(t, before, hostroot.Tree(t, root))
			want := []tasks.Task{file("/etc/ours", "1"), file("/etc/found", "2")}
			mustConverge(t, root, want...)
			p, err := resetOf(onRoot(root)).Run(t.Context())
			if err != nil || !hostroot.There(root, "/etc/ours") || !strings.Contains(said(p), "file:/etc/ours stays") || hostroot.Read(t, root, "/etc/found") != "2" {
				t.Errorf("reset after another pass: %v\n%s", err, said(p))
			}
		})
	}
}

// same compares two trees without the lock and its directory.
func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, was := range before {
		if after[path] != was && path != "" && !strings.HasPrefix(path, "/run") {
			t.Errorf("%s changed: %s → %s", path, was, after[path])
		}
	}
	for path := range after {
		if before[path] == "" && !strings.HasPrefix(path, "/run") {
			t.Errorf("%s was made", path)
		}
	}
}

// If this agent cannot read a part of an entry, it keeps what the entry is about, and names it: an
// absent content, or a task that a newer agent wrote. The lines that keep it:
// pkg/reconcile/ownership/removals.go, sort (Rebuild); pkg/reset/decide.go, read (Rebuild).
func TestWhatCannotBeReadStays(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, root string){
		"content gone": func(t *testing.T, root string) {
			if err := os.RemoveAll(filepath.Join(root, "var/lib/netwright/blobs")); err != nil {
				t.Fatal(err)
			}
		},
		"newer": func(t *testing.T, root string) {
			led, err := onRoot(root).Session().LoadLedger()
			if err != nil {
				t.Fatal(err)
			}
			newer(t, root, led)
		},
	} {
		for _, verb := range []string{"prune", "reset"} {
			t.Run(name+", "+verb, func(t *testing.T) {
				root := whole(t)
				harm(t, root)
				plan, err := (*report.Plan)(nil), error(nil)
				if verb == "prune" {
					plan, err = onRoot(root).Converge(t.Context(), wanting())
				} else {
					plan, err = resetOf(onRoot(root)).Run(t.Context())
				}
				if err != nil || !hostroot.There(root, "/etc/ours") || !strings.Contains(said(plan), "file:/etc/ours stays") {
					t.Errorf("%v, /etc/ours there: %v\n%s", err, hostroot.There(root, "/etc/ours"), said(plan))
				}
				keeps(t, root, verb)
			})
		}
	}
}

// A rollback restores and removes certificates. Nobody else can read a key at any time. The lines
// that keep it: pkg/ledger/revisions.go, saveContents (0600, 0700);
// pkg/reconcile/desired/pinned.go, FromRevision.
func TestRollbackBringsCertificatesBack(t *testing.T) {
	root := t.TempDir()
	ca := pki.New(t, "ca")
	pair := ca.Client("someone")
	set := tasks.CertificateSet{Meta: tasks.Meta{From: "test", Secret: true}, Dir: "/etc/pki", CA: tasks.CertFile{Name: "ca.pem", PEM: []byte(ca.PEM), Mode: 0o644},
		Cert: tasks.CertFile{Name: "cert.pem", PEM: []byte(pair.Cert), Mode: 0o644}, Key: tasks.CertFile{Name: "key.pem", PEM: []byte(pair.Key), Mode: 0o600}}
	mustConverge(t, root, set, file("/etc/a", "1"))
	mustConverge(t, root, file("/etc/a", "1"))
	if hostroot.There(root, "/etc/pki") {
		t.Fatal("the certificates stay")
	}
	if _, err := onRoot(root).Rollback(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if hostroot.Read(t, root, "/etc/pki/key.pem") != pair.Key {
		t.Error("the key is not back")
	}
	for path, is := range hostroot.Tree(t, root) {
		if strings.Contains(is, "PRIVATE KEY") && !strings.HasPrefix(is, "-rw------- 0:0") {
			t.Errorf("%s: got %.40s", path, is)
		}
	}
	if info, err := os.Stat(filepath.Join(root, "var/lib/netwright/blobs")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the contents are in a directory %v, %v", info.Mode(), err)
	}
	if _, err := onRoot(root).Session().Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustConverge(t, root, file("/etc/a", "1"))
	if hostroot.There(root, "/etc/pki") {
		t.Error("after resume the certificates are still there")
	}
}

// readOnly makes a directory read-only until the test ends.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(unix.Mount(dir, dir, "", unix.MS_BIND, ""), unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// Where the ledger cannot be written, nothing is changed or removed. The lines that keep it:
// pkg/reconcile/ownership/intend.go, Intend (removing); pkg/reset/reset.go, Run
// (Intend before do).
func TestALedgerThatCannotBeWrittenStopsAll(t *testing.T) {
	for _, verb := range []string{"change", "prune", "reset"} {
		t.Run(verb, func(t *testing.T) {
			root := whole(t)
			dir := filepath.Join(root, "var/lib/netwright")
			readOnly(t, dir)
			before := hostroot.Tree(t, root)
			var err error
			switch verb {
			case "change":
				_, err = onRoot(root).Converge(t.Context(), wanting(file("/etc/ours", "2")))
			case "prune":
				_, err = onRoot(root).Converge(t.Context(), wanting())
			case "reset":
				_, err = resetOf(onRoot(root)).Run(t.Context())
			}
			if !errors.Is(err, unix.EROFS) {
				t.Errorf("the error is %v", err)
			}
			same(t, before, hostroot.Tree(t, root))
		})
	}
}

// oneShelf is a source of one archive. The archive may be absent.
type oneShelf struct {
	body []byte
	away bool
}

func (s *oneShelf) Open(context.Context, string) (io.ReadCloser, int64, error) {
	if s.away {
		return nil, 0, errors.New("no route to the shelf")
	}
	return io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body)), nil
}

// A rollback to a revision with an archive that is no longer installed fetches the archive from its
// source. If the archive is absent there or differs, the rollback says so before it changes
// anything. The lines that keep it: rollback.go, Rollback (available before the pin);
// pkg/tasks/archive.go, Available.
func TestRollbackAsksForArchivesFirst(t *testing.T) {
	root := t.TempDir()
	shelf := &oneShelf{body: tarOf(t, "tool", "one")}
	old := archiveOf(shelf)
	pass := onRoot(root)
	pass.Assets = shelf
	for _, set := range [][]tasks.Task{{old, file("/etc/a", "1")}, {file("/etc/a", "2")}} {
		if _, err := pass.Converge(t.Context(), wanting(set...)); err != nil {
			t.Fatal(err)
		}
	}
	if hostroot.There(root, "/opt/bin/tool") {
		t.Fatal("the archive's member is still there")
	}
	for name, harm := range map[string]oneShelf{
		"away":    {away: true},
		"another": {body: tarOf(t, "tool", "forged")},
	} {
		good := *shelf
		*shelf = harm
		before := hostroot.Tree(t, root)
		_, err := pass.Rollback(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "tools") {
			t.Errorf("%s: Rollback returns %v", name, err)
		}
		after := hostroot.Tree(t, root)
		for _, dir := range []string{"/var/lib/netwright", "/var/lib/netwright/assets"} { // a file was there for a moment
			delete(before, dir)
			delete(after, dir)
		}
		same(t, before, after)
		*shelf = good
	}
	if h, err := history.Read(pass.Host); err != nil || h.Pin != nil {
		t.Errorf("the node is held: %+v, %v", h.Pin, err)
	}
	if _, err := pass.Rollback(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if hostroot.Read(t, root, "/opt/bin/tool") != "one" || hostroot.Read(t, root, "/etc/a") != "1" {
		t.Error("the rollback did not bring the archive back")
	}
}
