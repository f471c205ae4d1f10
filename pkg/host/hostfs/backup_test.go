package hostfs

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// A kept file stays after its replacement and its removal. If possible it is the same file: the
// same inode, with all its attributes. The lines that keep it: backup.go, linkFile; Retain
// (b.Create) on another file system.
func TestKeep(t *testing.T) {
	needs.Root(t)
	ctx := t.Context()
	h, root := image(t)
	must(t, os.Mkdir(root+"/elsewhere", 0o755))
	mount(t, "tmpfs", root+"/elsewhere", "tmpfs", 0, "")
	must(t, h.WriteFile(ctx, "/bin/program", []byte("old"), self(0o751)))
	was, err := h.Lstat("/bin/program")
	must(t, err)
	for _, at := range []string{"/var/kept", "/elsewhere/kept"} {
		for range 2 { // the second time changes nothing
			_, err := h.Retain(ctx, "/bin/program", at, "/var/kept")
			must(t, err)
		}
	}
	must(t, h.WriteFile(ctx, "/bin/program", []byte("new"), self(0o700)))
	must(t, h.Restore(ctx, "/var/kept", "/bin/program", self(0o751)))
	if now, err := h.Lstat("/bin/program"); err != nil || now.Inode != was.Inode || now.Mtime != was.Mtime || now.Mode != was.Mode {
		t.Errorf("brought back: %+v, %v, was %+v", now, err, was)
	}
	must(t, h.Remove("/bin/program"), h.Restore(ctx, "/elsewhere/kept", "/bin/program", self(0o751)))
	sameTree(t, root, map[string]string{
		"/bin": "drwxr-xr-x", "/bin/program": "-rwxr-x--x old", "/var": "drwxr-xr-x", "/var/kept": "-rwxr-x--x old",
		"/elsewhere": "dtrwxrwxrwx", "/elsewhere/kept": "-rwxr-x--x old",
	})
	if _, err := h.Retain(ctx, "/absent", "/var/other"); err == nil {
		t.Error("what is absent is kept")
	}
}

// A kept file is not restored onto a file that is mounted at its place by then, because that is
// another's. The file below the mount may be the kept one or another. The lines that keep it:
// backup.go, linkFile (Unlinkat, Renameat).
func TestRestoreOntoAMount(t *testing.T) {
	needs.Root(t)
	ctx := t.Context()
	h, root := image(t)
	for _, below := range []string{"the kept file", "a later one"} {
		must(t, h.WriteFile(ctx, "/program", []byte("old"), self(0o751)), os.WriteFile(root+"/other", []byte("other"), 0o600))
		_, err := h.Retain(ctx, "/program", "/kept")
		must(t, err)
		if below == "a later one" {
			must(t, h.WriteFile(ctx, "/program", []byte("new"), self(0o751)))
		}
		must(t, unix.Mount(root+"/other", root+"/program", "", unix.MS_BIND, ""))
		errRestore := h.Restore(ctx, "/kept", "/program", self(0o751))
		text, err := os.ReadFile(root + "/program")
		must(t, unix.Unmount(root+"/program", unix.MNT_DETACH))
		if !errors.Is(errRestore, unix.EBUSY) || err != nil || string(text) != "other" {
			t.Errorf("under the mount is %s: %q, %v, %v", below, text, err, errRestore)
		}
		must(t, h.Remove("/program"))
		sameTree(t, root, map[string]string{"/kept": "-rwxr-x--x old", "/other": "-rw------- other"})
		must(t, h.Remove("/other"))
	}
}

// The record of a small file needs little more memory than the file has bytes: an undo records ten
// thousand at once. The line that keeps it: read.go, readRegular.
func TestCaptureOfASmallFile(t *testing.T) {
	const content, mostBytes, times = "a small file\n", 256, 100
	h, root := image(t)
	must(t, os.WriteFile(root+"/small", []byte(content), 0o600))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if c, err := h.Capture("/small", 1<<20); err != nil || string(c.Content) != content || c.Size != int64(len(content)) {
			t.Fatalf("Capture: %+v, %v", c, err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > mostBytes {
		t.Errorf("each record allocates %d bytes, want at most %d", each, mostBytes)
	}
}
