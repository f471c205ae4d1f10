package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/tasks"
)

// fullDisk is a disk that takes half of what is appended.
type fullDisk struct{ *hostfs.Writer }

func (d fullDisk) AppendFile(path string, data []byte, mode fs.FileMode) error {
	return errors.Join(d.Writer.AppendFile(path, data[:len(data)/2], mode), errors.New("no space left"))
}

// What was appended in part must not stand between two batches: that would be damage, and all that
// the ledger knows lost. The line that keeps it: journal.go, Commit (rewrite).
func TestAHalfThatWasAppendedIsReplaced(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Head: Head{Current: 1}})
	if err := l.Commit(t.Context(), fullDisk{h.Files}, Batch{Put: []Entry{entry("file:/b", Owned)}, Head: Head{Current: 2}}); err == nil {
		t.Fatal("a full disk is no error")
	}
	if len(l.Entries()) != 1 || l.Head().Current != 1 {
		t.Errorf("what was not written counts: %v, %+v", l.Entries(), l.Head())
	}
	commit(t, l, h, Batch{Put: []Entry{entry("file:/c", Owned)}, Head: Head{Current: 3}})
	if again, _ := open(t, root); again.Lost || len(again.Entries()) != 2 || again.Head().Current != 3 {
		t.Errorf("after the next batch: lost %v, %v, %+v", again.Lost, again.Entries(), again.Head())
	}
}

// A node that has revisions had a journal: without it nothing is known to be ours. The line that
// keeps it: journal.go, loadJournal (revisionDir).
func TestAJournalThatIsGoneIsALoss(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	if l.Lost || len(l.Damage()) > 0 {
		t.Errorf("a new node has lost something: %v", l.Damage())
	}
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Head: Head{Current: 1}, Revision: &Revision{Number: 1}})
	if err := os.Remove(filepath.Join(root, JournalFile)); err != nil {
		t.Fatal(err)
	}
	if again, _ := open(t, root); !again.Lost || !again.Head().Lost || len(again.Damage()) != 1 {
		t.Errorf("lost %v, %+v, %v", again.Lost, again.Head(), again.Damage())
	}
}

// A content that is kept is not written again. The line that keeps it: revisions.go, saveContents
// (there).
func TestAContentIsWrittenOnce(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	content := blob.Of([]byte("large"))
	stat := func() os.FileInfo {
		t.Helper()
		commit(t, l, h, Batch{Blobs: []blob.Content{content}, Head: Head{Current: 1}})
		info, err := os.Stat(filepath.Join(root, blobDir, content.Sum.String()))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if !os.SameFile(stat(), stat()) {
		t.Error("it was written twice")
	}
}

// What the node is at is kept however old it is, and where a revision is damaged no content goes:
// it may be the one that names it. The lines that keep it: revisions.go, Tidy (head.Current; return
// nil).
func TestTidyRemovesNothingThatMayBeNeeded(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	content := blob.Of([]byte("of the first"))
	named := []tasks.Recorded{{Kind: "file", Blobs: []blob.Digest{content.Sum}}}
	commit(t, l, h, Batch{Blobs: []blob.Content{content}, Head: Head{Current: 1}, Revision: &Revision{Number: 1, Tasks: named}})
	for n := 2; n <= MaxRevisions+3; n++ {
		commit(t, l, h, Batch{Head: Head{Current: 1}, Revision: &Revision{Number: n}})
	}
	if err := l.Tidy(h.Files); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRevision(h.Live.Files, 1); err != nil {
		t.Error(err)
	}
	if numbers, err := revisionNumbers(h.Live.Files); err != nil || len(numbers) != MaxRevisions+1 {
		t.Errorf("%v are kept (%v)", numbers, err)
	}
	if err := os.WriteFile(filepath.Join(root, revisionFile(1)), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Tidy(h.Files); err != nil {
		t.Fatal(err)
	}
	if _, err := Blob(h.Live.Files, content.Sum); err != nil {
		t.Errorf("what a damaged revision may name: %v", err)
	}
}

// A ledger of a later version is not written to, whoever tries. The line that keeps it: journal.go,
// Commit (Newer).
func TestALaterLedgerIsNotWrittenTo(t *testing.T) {
	root := t.TempDir()
	_, h := open(t, root)
	if err := h.Files.WriteFile(t.Context(), FormatFile, []byte("99 v9.9.9\n"), hostfs.FileSpec{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	l, h := open(t, root)
	var newer *NewerError
	if err := l.Commit(t.Context(), h.Files, Batch{Put: []Entry{entry("file:/a", Owned)}}); !errors.As(err, &newer) {
		t.Errorf("the answer is %v", err)
	}
	if _, err := h.Live.Files.Lstat(JournalFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a journal: %v", err)
	}
}

// failingDisk cannot read one file, for now.
type failingDisk struct {
	Reader
	file string
	err  error
}

func (d failingDisk) ReadFile(path string) ([]byte, error) {
	if path == d.file {
		return nil, &fs.PathError{Op: "read", Path: path, Err: d.err}
	}
	return d.Reader.ReadFile(path)
}

// A journal that cannot be read now may be whole: nothing is known, nothing is lost, and nothing is
// written over it. What is no file at all is a loss as before. The line that keeps it: journal.go,
// loadJournal (withhold).
func TestAJournalThatCannotBeReadIsNotReplaced(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Head: Head{Current: 1}})
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOMEM, syscall.EMFILE, syscall.ESTALE} {
		l := Load(failingDisk{h.Live.Files, JournalFile, errno})
		err := l.Commit(t.Context(), h.Files, Batch{Put: []Entry{entry("file:/b", Owned)}})
		if l.Lost || !errors.Is(l.Newer, errno) || len(l.Entries()) > 0 || !errors.Is(err, errno) {
			t.Errorf("%v: lost %v, %v, %v; to write it: %v", errno, l.Lost, l.Newer, l.Entries(), err)
		}
	}
	if again, _ := open(t, root); again.Lost || again.Newer != nil || len(again.Entries()) != 1 || again.Head().Current != 1 {
		t.Errorf("afterwards: lost %v, %v, %v, %+v", again.Lost, again.Newer, again.Entries(), again.Head())
	}
	if l := Load(failingDisk{h.Live.Files, JournalFile, syscall.EISDIR}); !l.Lost || l.Newer != nil {
		t.Errorf("a directory: lost %v, %v", l.Lost, l.Newer)
	}
}
