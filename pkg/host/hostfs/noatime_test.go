package hostfs

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// A look at a file or a directory writes nothing: the kernel records no access, although the last
// access is older than the last change.
func TestLooksLeaveNoTrace(t *testing.T) {
	h, root := image(t)
	long := time.Now().Add(-48 * time.Hour)
	dir, file := filepath.Join(root, "etc"), filepath.Join(root, "etc/x")
	must(t, os.Mkdir(dir, 0o755), os.WriteFile(file, []byte("x"), 0o644), os.Chtimes(file, long, time.Time{}), os.Chtimes(dir, long, time.Time{}))
	before := []int64{accessed(t, dir), accessed(t, file)}
	_, errRead := h.ReadFile("/etc/x")
	_, errSum := h.Sum("/etc/x")
	_, errList := h.ReadDir("/etc")
	h.RemoveStale([]string{"/etc"})
	must(t, errRead, errSum, errList)
	if accessed(t, dir) != before[0] || accessed(t, file) != before[1] {
		t.Errorf("times of access of the directory and the file: %d and %d, before the look %v", accessed(t, dir), accessed(t, file), before)
	}
}

// A process that may read another user's file, but may not keep its access time, still reads the
// file.
func TestWhoMayNotLookQuietlyStillReads(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755), os.WriteFile(filepath.Join(root, "x"), []byte("x"), 0o644))
	type result struct {
		data string
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			done <- result{err: err}
			return
		}
		_, err := unix.Open(filepath.Join(root, "x"), unix.O_RDONLY|unix.O_NOATIME|unix.O_CLOEXEC, 0)
		if err != unix.EPERM {
			t.Errorf("this user may look quietly: %v", err)
		}
		data, err := h.ReadFile("/x")
		done <- result{string(data), err}
	}()
	if got := <-done; got.err != nil || got.data != "x" {
		t.Errorf("read %q, %v", got.data, got.err)
	}
}

func accessed(t *testing.T, name string) int64 {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(name, &st))
	return st.Atim.Nano()
}
