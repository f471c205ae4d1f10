package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// fullDisk is a disk that accepts half of an appended text.
type fullDisk struct{ *hostfs.Writer }

func (d fullDisk) AppendFile(path string, data []byte, mode fs.FileMode) error {
	return errors.Join(d.Writer.AppendFile(path, data[:len(data)/2], mode), errors.New("no space left"))
}

// A batch that was appended in part must not stay between two batches: that would be damage, and
// the ledger would lose all that it knows. The line that keeps it: journal.go, Commit (rewrite).
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

// noList is a disk that lists no directory.
type noList struct{ *hostfs.Writer }

func (d noList) ReadDir(path string) ([]string, error) {
	return nil, fmt.Errorf("%s was listed", path)
}

// A batch looks for its own contents among those that are kept, which may be ten thousand. It
// writes those that are missing. The line that keeps it: revisions.go, saveContents.
func TestABatchListsNoContents(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	kept, fresh := blob.Of([]byte("kept")), blob.Of([]byte("fresh"))
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Blobs: []blob.Content{kept}})
	at := filepath.Join(root, blobDir, kept.Sum.String())
	before, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(t.Context(), noList{h.Files}, Batch{Blobs: []blob.Content{kept, fresh}}); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(at); err != nil || !os.SameFile(before, after) {
		t.Errorf("a content that is kept was written again: %v", err)
	}
	if data, err := Blob(h.Files, fresh.Sum); err != nil || string(data) != "fresh" {
		t.Errorf("a new content: %q, %v", data, err)
	}
}

// A node with revisions had a journal. Without the journal the agent does not know what is ours.
// The line that keeps it: journal.go, loadJournal (revisionDir).
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

// A kept content is not written again. The line that keeps it: revisions.go, saveContents (there).
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
	if data, err := Blob(h.Live.Files, blob.Digest{1}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a content that is not there is %q, %v", data, err)
	}
}

// The node's current revision is kept however old it is. If a revision is damaged, no content is
// removed, since that revision may name it. The lines that keep it: revisions.go, Tidy
// (head.Current; return nil).
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

// A damaged revision is named, and the others are read. If the revisions cannot be listed, no
// number counts as free. The lines that keep it: revisions.go, Revisions and revisionNumbers.
func TestADamagedRevisionIsNamedAndTheOthersAreRead(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	for n := 1; n <= 3; n++ {
		commit(t, l, h, Batch{Head: Head{Current: n}, Revision: &Revision{Number: n}})
	}
	if err := os.WriteFile(filepath.Join(root, revisionFile(2)), []byte(`{"number":3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := Revisions(h.Live.Files)
	if len(all) != 2 || all[0].Number != 1 || all[1].Number != 3 || err == nil || !strings.Contains(err.Error(), revisionFile(2)+" is damaged") {
		t.Errorf("Revisions returns %+v, %v", all, err)
	}
	if all, err := Revisions(noList{h.Files}); err == nil {
		t.Errorf("Revisions of a directory that cannot be listed returns %+v", all)
	}
	if n, err := l.NextRevision(noList{h.Files}); err == nil {
		t.Errorf("NextRevision returns %d", n)
	}
}

// No command writes to the ledger of a later version. The line that keeps it: journal.go, Commit
// (Newer).
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

// failingDisk fails to read one file, for some time.
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

// A journal that cannot be read now may be whole. So the agent knows nothing, loses nothing, and
// does not write over the journal. If the journal is no file, it is lost as before. The line that
// keeps it: journal.go, loadJournal (withhold).
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

// If the id of the boot cannot be read now, the agent records nothing: without the id, the ledger
// would say that this machine was never right. The pause of this boot goes on. The lines that keep
// it: ledger.go, Load (withhold); clock.go, ClockOf; pkg/host/machine_id.go, BootID.
func TestTheBootCannotBeRead(t *testing.T) {
	root := t.TempDir()
	l, h := open(t, root)
	for path, text := range map[string]string{bootIDFile: "one\n", "/proc/uptime": "7200.00 1.00\n"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(root+path), 0o755), os.WriteFile(root+path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Head: Head{Current: 1, Boot: "one"}})
	unread := failingDisk{h.Live.Files, bootIDFile, syscall.ENFILE}
	l = Load(unread)
	if err := l.Commit(t.Context(), h.Files, Batch{Head: Head{Current: 1, Boot: l.Boot()}}); !errors.Is(err, syscall.ENFILE) {
		t.Errorf("to write the ledger: %v", err)
	}
	if again := Load(h.Live.Files); again.Baked() || len(again.Entries()) != 1 {
		t.Errorf("afterwards: baked %v, %v", again.Baked(), again.Entries())
	}
	began := time.Unix(1000, 0)
	p := &Pause{Since: began, For: time.Minute, Boot: "one", Up: 2 * time.Hour}
	if end := p.Ends(ClockOf(unread, began)); !end.Equal(began.Add(time.Minute)) {
		t.Errorf("the pause ends at %s", end)
	}
}

// A journal that root may not read, for example by SELinux, is there. The agent does not write over
// it, and does not say that root is needed. If the server of the journal's file system is gone, the
// error says where to look. The lines that keep it: state_files.go, isClosed;
// pkg/host/hostpath/error.go, advices.
func TestAMemoryThatIsClosedToRoot(t *testing.T) {
	needs.Root(t)
	root := t.TempDir()
	l, h := open(t, root)
	commit(t, l, h, Batch{Put: []Entry{entry("file:/a", Owned)}, Head: Head{Current: 1}})
	if err := h.Files.WriteFile(t.Context(), FormatFile, []byte("1 v1\n"), hostfs.FileSpec{Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{JournalFile, FormatFile} {
		if err := os.Chown(filepath.Join(root, file), 65534, 65534); err != nil {
			t.Fatal(err)
		}
		loaded := make(chan *Ledger)
		go func() {
			runtime.LockOSThread() // the thread ends with this goroutine
			head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var sets [2]unix.CapUserData
			err := unix.Capget(&head, &sets[0])
			sets[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
			if err = errors.Join(err, unix.Capset(&head, &sets[0])); err != nil {
				t.Error(err)
			}
			loaded <- Load(h.Live.Files)
		}()
		l := <-loaded
		if err := l.Commit(t.Context(), h.Files, Batch{}); l.Unreadable || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "SELinux") {
			t.Errorf("%s: for root alone: %v, to write it: %v", file, l.Unreadable, err)
		}
		if err := os.Chown(filepath.Join(root, file), 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", server.Fd())
	if err := unix.Mount("gone", filepath.Join(root, Dir), "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(filepath.Join(root, Dir), unix.MNT_DETACH) })
	server.Close()
	if l := Load(h.Live.Files); l.Newer == nil || !strings.Contains(l.Newer.Error(), "findmnt -T "+Dir) {
		t.Errorf("its server is gone: %v", l.Newer)
	}
}
