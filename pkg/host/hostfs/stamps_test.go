package hostfs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
)

// readable returns a host with one file and a book of stamps.
func readable(t *testing.T, content string) (h *readWriter, book stampBook, path string) {
	t.Helper()
	book = stampBook{}
	root := t.TempDir()
	h = openImage(t, Options{Root: root, Stamps: book})
	must(t, os.WriteFile(root+"/f", []byte(content), 0o644))
	return h, book, root + "/f"
}

func mustSum(t *testing.T, h *readWriter, content string) {
	t.Helper()
	if sum, err := h.Sum("/f"); err != nil || sum != blob.Digest(sha256.Sum256([]byte(content))) {
		t.Fatalf("Sum = %s, %v; want that of %q", sum, err, content)
	}
}

// A file that may change again under the same stamp is read each time, and its stamp is not
// trusted. Kernels before 6.13 show this if a file changes twice within a tick, and any kernel does
// if the file's time is ahead of the clock. The line is `case !settled` in Sum.
func TestWhatIsNotSettledIsNotVouchedFor(t *testing.T) {
	h, book, path := readable(t, "one")
	ahead := unix.NsecToTimespec(fileClock() + 3600e9)
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{ahead, ahead}, 0))
	mustSum(t, h, "one")
	h.RecheckRacy()
	if len(book) != 0 {
		t.Errorf("vouched for: %v", book)
	}
	for range 20 {
		h, book, path := readable(t, "one")
		mustSum(t, h, "one")
		before, err := h.Lstat("/f")
		must(t, err)
		_, recorded := book.Lookup("/f", before)
		must(t, os.WriteFile(path, []byte("two"), 0o644))
		if after, err := h.Lstat("/f"); err != nil || recorded && after == before {
			t.Fatalf("the stamp was trusted, and a change left no trace: %+v, %v", after, err)
		}
		mustSum(t, h, "two")
	}
}

// Whatever the clock of the file system is, a file whose stamp is now or later is not settled. A
// file with a stamp of one tick ago is settled. The test repeats until one try is within one
// second.
func TestSettled(t *testing.T) {
	for range 1000 {
		now := fileClock()
		wrong := settledWrongly(now)
		if (fileClock()+longestTick*1e6)/1e9 != now/1e9 {
			continue
		}
		for _, name := range wrong {
			t.Errorf("%s is wrong of a file that changes now", name)
		}
		return
	}
	t.Error("no try was over within a second")
}

func settledWrongly(now int64) (wrong []string) {
	odd := now/1e9*1e9 + 1
	for _, c := range []struct {
		name         string
		mtime, ctime int64
		want         bool
	}{
		{"long ago", odd - 1e12, odd - 1e12, true},
		{"mtime of this tick", now + 1e9, odd - 1e12, false},
		{"ctime of this tick, mtime put back", odd - 1e12, now + 1e9, false},
		{"of the future", now + 1e12, now + 1e12, false},
		{"seconds only, this one", now / 1e9 * 1e9, now / 1e9 * 1e9, false},
		{"seconds only, long ago", now/1e9*1e9 - 5e9, now/1e9*1e9 - 5e9, true},
	} {
		if got := Stable(FileInfo{Mtime: c.mtime, Ctime: c.ctime}); got != c.want {
			wrong = append(wrong, fmt.Sprintf("%s: %t", c.name, got))
		}
		if AwaitTick(FileInfo{Mtime: c.mtime, Ctime: c.ctime}) != c.want {
			wrong = append(wrong, c.name+": a tick is not waited for where it does not help")
		}
	}
	return wrong
}

// A change of a small file that kept its size and put its mtime back is noticed by its ctime.
func TestMtimePutBackIsSeen(t *testing.T) {
	h, book, path := readable(t, "one")
	before, err := h.Lstat("/f")
	must(t, err)
	if !AwaitTick(before) {
		t.Fatal("the clock stands still")
	}
	mustSum(t, h, "one")
	if len(book) != 1 {
		t.Fatalf("not vouched for: %v", book)
	}
	must(t, os.WriteFile(path, []byte("two"), 0o644))
	at := unix.NsecToTimespec(before.Mtime)
	must(t, unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{at, at}, 0))
	after, err := h.Lstat("/f")
	must(t, err)
	if after.Mtime != before.Mtime || after.Size != before.Size || after.Inode != before.Inode {
		t.Fatalf("the test changed more than content and ctime: %+v, %+v", before, after)
	}
	mustSum(t, h, "two")
	if sum, err := h.SumOf("/f", after); err != nil || sum != blob.Digest(sha256.Sum256([]byte("two"))) {
		t.Errorf("SumOf = %s, %v", sum, err)
	}
}

// At the end of a pass the stamps of what it wrote itself are trusted, so that the next pass writes
// nothing.
func TestSettleStampsVouchesForWhatJustChanged(t *testing.T) {
	h, book, _ := readable(t, "one")
	must(t, h.WriteFile(t.Context(), "/written", []byte("content"), self(0o644)))
	mustSum(t, h, "one")
	must(t, h.setMetaOf("/f", self(0o600)))
	mustSum(t, h, "one")
	h.RecheckRacy()
	for name, content := range map[string]string{"/f": "one", "/written": "content"} {
		info, err := h.Lstat(name)
		must(t, err)
		if sum, ok := book.Lookup(name, info); !ok || sum != blob.Digest(sha256.Sum256([]byte(content))) {
			t.Errorf("%s: known %t as %s", name, ok, sum)
		}
	}
	if len(h.Reader.racy.list) != 0 {
		t.Errorf("left over: %v", h.Reader.racy.list)
	}
}

// SumOf opens no file whose stamp is trusted.
func TestSumOfBelievesWithoutOpening(t *testing.T) {
	h, book, path := readable(t, "one")
	info, err := h.Lstat("/f")
	must(t, err)
	book.Record("/f", info, blob.Digest{7})
	must(t, os.Remove(path))
	if sum, err := h.SumOf("/f", info); err != nil || sum != (blob.Digest{7}) {
		t.Errorf("SumOf = %s, %v", sum, err)
	}
	h.Reader.opt.Verify = true
	if _, err := h.SumOf("/f", info); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("--verify believed a stamp: %v", err)
	}
}
