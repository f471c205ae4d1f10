package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// A change that may be written later counts in memory at once. It comes to the disk in the record
// of the next batch, or at the end if there is no next batch. The lines that keep it: journal.go,
// Commit (later) and Flush.
func TestALaterBatchComesWithTheNext(t *testing.T) {
	ends := map[string]func(l *Ledger, w Host) error{
		"a batch": func(l *Ledger, w Host) error {
			return l.Commit(t.Context(), w, Batch{Put: []Entry{entry("file:/b", Found)}, Head: Head{Current: 2}})
		},
		"nothing": func(l *Ledger, w Host) error { return l.Flush(t.Context(), w) },
		"a batch that has no room": func(l *Ledger, w Host) error {
			if err := l.Commit(t.Context(), fullDisk{w.(*hostfs.Writer)}, Batch{Head: Head{Current: 2}}); err == nil {
				return errors.New("a full disk is no error")
			}
			return l.Flush(t.Context(), w)
		},
	}
	for what, end := range ends {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			l, h := open(t, root)
			commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Head: Head{Current: 1}})
			before, err := os.ReadFile(filepath.Join(root, JournalFile))
			if err != nil {
				t.Fatal(err)
			}
			marked := entry("file:/a", Owned)
			marked.Pending = true
			commit(t, l, h, Batch{Put: []Entry{marked}, Head: Head{Current: 1}, Later: true})
			now, err := os.ReadFile(filepath.Join(root, JournalFile))
			if err != nil || string(now) != string(before) || !l.Entries()["file:/a"].Pending {
				t.Fatalf("%v; the journal is %q, was %q; in memory is %+v", err, now, before, l.Entries())
			}
			if err := end(l, h.Files); err != nil {
				t.Fatal(err)
			}
			again, _ := open(t, root)
			if diff := cmp.Diff(l.Entries(), again.Entries()); diff != "" || again.Head() != l.Head() || again.Lost {
				t.Errorf("the disk has %+v, lost %v: %s", again.Head(), again.Lost, diff)
			}
			if now, err = os.ReadFile(filepath.Join(root, JournalFile)); err != nil {
				t.Fatal(err)
			}
			if err := l.Flush(t.Context(), h.Files); err != nil {
				t.Fatal(err)
			}
			if last, err := os.ReadFile(filepath.Join(root, JournalFile)); err != nil || string(last) != string(now) {
				t.Errorf("what is on the disk is written again: %v, %q", err, strings.TrimPrefix(string(last), string(now)))
			}
		})
	}
}
