package hostfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// readTree reads all files below a directory by plain os calls, and returns mode and content by
// path.
func readTree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.Walk(root, func(p string, info os.FileInfo, err error) error {
		if err != nil || p == root {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			what += " " + string(content)
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			what += " " + target
		}
		all[strings.TrimPrefix(p, root)] = what
		return nil
	}))
	return all
}

func sameTree(t testing.TB, root string, want map[string]string) {
	t.Helper()
	got := readTree(t, root)
	for p, w := range want {
		if got[p] != w {
			t.Errorf("%s is %q, want %q", p, got[p], w)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%s is there: %q", p, got[p])
		}
	}
}

func TestBatchAppearsWhole(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	h, root := image(t)
	must(t, os.MkdirAll(root+"/etc/cni", 0o755), os.Chmod(root+"/etc", 0o755), os.Chmod(root+"/etc/cni", 0o755),
		os.WriteFile(root+"/etc/cni/old", []byte("old"), 0o600), os.Symlink("old", root+"/etc/cni/link"))
	before := readTree(t, root)

	b := h.Batch()
	must(t, b.Put("/etc/cni/old", []byte("new"), self(0o644)), b.Put("/etc/cni/link", []byte("was a link"), self(0o600)))
	s, err := b.Create("/opt/a/b/fresh", self(0o755|os.ModeSetuid))
	must(t, err)
	for _, part := range []string{"one", "two"} {
		_, err := s.Write([]byte(part))
		must(t, err)
	}
	must(t, s.Close())
	for p, what := range before {
		if got := readTree(t, root)[p]; got != what {
			t.Errorf("before the commit %s is %q, was %q", p, got, what)
		}
	}
	must(t, b.Commit(context.Background()))
	sameTree(t, root, map[string]string{
		"/etc": "drwxr-xr-x", "/etc/cni": "drwxr-xr-x", "/opt": "drwxr-xr-x", "/opt/a": "drwxr-xr-x", "/opt/a/b": "drwxr-xr-x",
		"/etc/cni/old": "-rw-r--r-- new", "/etc/cni/link": "-rw------- was a link", "/opt/a/b/fresh": "urwxr-xr-x onetwo",
	})
}

func TestDiscardLeavesNothing(t *testing.T) {
	h, root := image(t)
	b := h.Batch()
	must(t, b.Put("/x", []byte("x"), self(0o644)))
	_, err := b.Create("/y", self(0o644))
	must(t, err)
	b.Discard()
	sameTree(t, root, nil)

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("stopped by the test"))
	err = h.WriteFile(ctx, "/x", []byte("x"), self(0o644))
	if err == nil || !strings.Contains(err.Error(), "stopped by the test") {
		t.Errorf("cancelled: %v", err)
	}
	sameTree(t, root, nil)
}

func TestInTheWay(t *testing.T) {
	h, root := image(t)
	must(t, os.MkdirAll(root+"/dir/below", 0o755), os.WriteFile(root+"/file", []byte("x"), 0o644), unix.Mkfifo(root+"/pipe", 0o600))
	before := readTree(t, root)
	ctx := context.Background()
	var way *hostpath.InTheWayError
	for name, do := range map[string]func() error{
		"file over a directory":    func() error { return h.WriteFile(ctx, "/dir", nil, self(0o644)) },
		"file over a pipe":         func() error { return h.WriteFile(ctx, "/pipe", nil, self(0o644)) },
		"directory over a file":    func() error { return h.Mkdir("/file", 0o755, os.Geteuid(), os.Getegid()) },
		"symlink over a file":      func() error { return h.Symlink("/file", "x") },
		"symlink over a directory": func() error { return h.Symlink("/dir", "x") },
	} {
		if err := do(); !errors.As(err, &way) || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if err := h.WriteFile(ctx, "/file/below", nil, self(0o644)); err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("below a file: %v", err)
	}
	sameTree(t, root, before)
}

// TestFailedRenameTakesBackTheOthers makes the second of three renames fail.
func TestFailedRenameTakesBackTheOthers(t *testing.T) {
	h, root := image(t)
	must(t, os.WriteFile(root+"/a", []byte("old a"), 0o644))
	b := h.Batch()
	for _, name := range []string{"/a", "/b", "/c"} {
		must(t, b.Put(name, []byte("new"), self(0o644)))
	}
	must(t, os.Mkdir(root+"/c", 0o755)) // made after the file was staged
	if err := b.Commit(context.Background()); err == nil {
		t.Fatal("no error")
	}
	sameTree(t, root, map[string]string{"/a": "-rw-r--r-- old a", "/c": "drwxr-xr-x"})
}

// TestDirectoryThatCameMeanwhile puts a directory in place of a file that a batch is about to
// replace.
func TestDirectoryThatCameMeanwhile(t *testing.T) {
	h, root := image(t)
	must(t, os.WriteFile(root+"/a", []byte("old"), 0o644), os.WriteFile(root+"/b", []byte("old"), 0o644))
	b := h.Batch()
	must(t, b.Put("/a", []byte("new"), self(0o644)), b.Put("/b", []byte("new"), self(0o644)))
	must(t, os.Remove(root+"/b"), os.Mkdir(root+"/b", 0o755), os.WriteFile(root+"/b/data", []byte("precious"), 0o644))
	if err := b.Commit(context.Background()); !errors.Is(err, unix.EISDIR) {
		t.Fatalf("got %v", err)
	}
	sameTree(t, root, map[string]string{"/a": "-rw-r--r-- old", "/b": "drwxr-xr-x", "/b/data": "-rw-r--r-- precious"})
}

func TestLargeBatch(t *testing.T) {
	h, root := image(t)
	for n := range 2 {
		b := h.Batch()
		for i := range 3 * manyFiles {
			must(t, b.Put(fmt.Sprintf("/f%d", i), fmt.Append(nil, n, i), self(0o644)))
		}
		must(t, b.Commit(context.Background()))
		got := readTree(t, root)
		for i := range 3 * manyFiles {
			if want := "-rw-r--r-- " + fmt.Sprint(n, i); got[fmt.Sprintf("/f%d", i)] != want {
				t.Fatalf("file %d is %q, want %q", i, got[fmt.Sprintf("/f%d", i)], want)
			}
		}
		if len(got) != 3*manyFiles {
			t.Fatalf("%d files", len(got))
		}
	}
}

func TestLeftoversOfAKilledRun(t *testing.T) {
	h, root := image(t)
	dead, alive := "/.netwright-AAAAAAAAAA-00000001", "/.netwright-BBBBBBBBBB-00000002"
	keep := []string{"/.netwright-AAAAAAAAAA-0000001", "/.netwright-aaaaaaaaaa-00000001", "/.netwright-AAAAAAAAAA-00000001.conf", "/netwright-AAAAAAAAAA-00000001", alive}
	for _, name := range append(keep, dead) {
		must(t, os.WriteFile(root+name, nil, 0o600))
	}
	start := processStart
	defer func() { processStart = start }()
	var st unix.Stat_t
	must(t, unix.Stat(root+dead, &st))
	for { // until the file system's clock has moved
		must(t, os.WriteFile(root+alive, nil, 0o600), os.Chmod(root+alive, 0o600))
		var young unix.Stat_t
		must(t, unix.Stat(root+alive, &young))
		if young.Ctim.Nano() > st.Ctim.Nano() {
			processStart = time.Unix(0, young.Ctim.Nano())
			break
		}
	}
	must(t, os.WriteFile(root+"/plain", nil, 0o600))
	must(t, h.WriteFile(context.Background(), "/x", nil, self(0o600)))
	got := readTree(t, root)
	if _, ok := got[dead]; ok {
		t.Error("the leftover is still there")
	}
	for _, name := range []string{keep[0], keep[1], keep[2], keep[3], alive, "/plain", "/x"} {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestLeftoverOfTheFuture sets the clock back by a year after a run was killed.
func TestLeftoverOfTheFuture(t *testing.T) {
	root := t.TempDir()
	must(t, os.WriteFile(root+"/.netwright-AAAAAAAAAA-00000001", nil, 0o600))
	dir, err := os.Open(root)
	must(t, err)
	defer dir.Close()
	start := processStart
	defer func() { processStart = start }()
	processStart = time.Now().AddDate(-1, 0, 0)
	if !leftover(int(dir.Fd()), ".netwright-AAAAAAAAAA-00000001", processStart.Add(time.Minute)) {
		t.Error("a staged file of the future is never cleared")
	}
	if leftover(int(dir.Fd()), ".netwright-AAAAAAAAAA-00000001", time.Now().Add(time.Minute)) {
		t.Error("the file of another agent that runs is cleared")
	}
}

// TestStagedNameIsNobodysCandidate checks that no program which reads a directory accepts the
// staged name.
func TestStagedNameIsNobodysCandidate(t *testing.T) {
	name := stagedName()
	if filepath.Ext(name) != name || !strings.HasPrefix(name, ".") {
		t.Errorf("%q has an extension: libcni, systemd and others go by it", name)
	}
	if token, ok := stagedBy(name); !ok || token != processToken {
		t.Errorf("%q is not known as ours: %q, %v", name, token, ok)
	}
}

func TestLabelsOfTheReplacedFileStay(t *testing.T) {
	h, root := image(t)
	must(t, os.WriteFile(root+"/f", []byte("old"), 0o644))
	if err := unix.Setxattr(root+"/f", "user.netwright", []byte("kept"), 0); err != nil {
		needs.Missing(t, "needs a file system with user attributes: "+err.Error())
	}
	must(t, h.WriteFile(context.Background(), "/f", []byte("new"), self(0o600)))
	buf := make([]byte, 16)
	n, err := unix.Getxattr(root+"/f", "user.netwright", buf)
	if err != nil || string(buf[:n]) != "kept" {
		t.Errorf("got %q, %v", buf[:max(n, 0)], err)
	}
}

func TestManyCommitsAtATime(t *testing.T) {
	h, root := image(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if err := h.WriteFile(context.Background(), fmt.Sprintf("/d%d/f%d", i%7, i), fmt.Append(nil, i), self(0o644)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 200 {
		got, err := os.ReadFile(fmt.Sprintf("%s/d%d/f%d", root, i%7, i))
		if err != nil || string(got) != fmt.Sprint(i) {
			t.Errorf("%d: ReadFile returns %q, %v", i, got, err)
		}
	}
}

func TestEditFollowsALinkThatIsStatedAndKeepsMeta(t *testing.T) {
	h, root := image(t)
	h.Follow([]string{"/config.toml"})
	must(t, os.MkdirAll(root+"/data", 0o755), os.WriteFile(root+"/data/config.toml", nil, 0o640), os.Symlink("/data/config.toml", root+"/config.toml"))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := h.EditFile(context.Background(), "/config.toml", func(old []byte) ([]byte, error) { return append(old, 'x'), nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sameTree(t, root, map[string]string{
		"/data": "drwxr-xr-x", "/data/config.toml": "-rw-r----- " + strings.Repeat("x", 20), "/config.toml": "Lrwxrwxrwx /data/config.toml",
	})
}

// setMetaOf calls SetMeta for a file as it is now.
func (h *readWriter) setMetaOf(name string, spec FileSpec) error {
	info, err := h.Lstat(name)
	if err != nil {
		return err
	}
	return h.SetMeta(name, info, spec)
}

func TestSymlinkRemoveMkdirSetMeta(t *testing.T) {
	h, root := image(t)
	uid, gid := os.Geteuid(), os.Getegid()
	must(t, h.Symlink("/a/link", "one"), h.Symlink("/a/link", "two"), h.Symlink("/a/link", "two"),
		h.Mkdir("/a/d", 0o700, uid, gid), h.Mkdir("/a/d", 0o750|os.ModeSetgid, uid, gid),
		h.WriteFile(context.Background(), "/a/f", []byte("x"), self(0o644)), h.setMetaOf("/a/f", self(0o400)))
	sameTree(t, root, map[string]string{"/a": "drwxr-xr-x", "/a/link": "Lrwxrwxrwx two", "/a/d": "dgrwxr-x---", "/a/f": "-r-------- x"})
	must(t, h.Remove("/a/f/x"), h.Remove("/a/link"), h.Remove("/a/f"), h.Remove("/a/f"), h.Remove("/none/x"))
	if err := h.Remove("/"); err == nil {
		t.Error("the root was removed")
	}
	if err := h.Remove("/a"); err == nil {
		t.Error("a directory that is not empty was removed")
	}
	must(t, h.Remove("/a/d"), h.Remove("/a"))
	sameTree(t, root, nil)
}

func TestOwnerIsSetBeforeTheRename(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, h.WriteFile(context.Background(), "/f", nil, FileSpec{Mode: 0o640 | os.ModeSetgid, UID: 12, GID: 34}))
	must(t, h.setMetaOf("/f", FileSpec{Mode: 0o4755&0o777 | os.ModeSetuid, UID: 56, GID: 78}))
	var st unix.Stat_t
	must(t, unix.Stat(root+"/f", &st))
	if st.Uid != 56 || st.Gid != 78 || st.Mode&0o7777 != 0o4755 {
		t.Errorf("%d:st.Gid %d, st.Mode %o", st.Uid, st.Gid, st.Mode)
	}
}

// A file's time belongs to its content, and both change at the same moment. 0 is a time:
// reproducible images and OSTree use it for all files. The line that keeps it: batch_staged.go,
// Close (setTime).
func TestTimeComesWithTheContent(t *testing.T) {
	h, root := image(t)
	spec := self(0o640)
	spec.Mtime = new(int64(1_600_000_000_000_012_345))
	must(t, h.WriteFile(context.Background(), "/f", []byte("old"), spec))
	same := func(want int64) {
		t.Helper()
		info, err := os.Stat(root + "/f")
		must(t, err)
		if got := info.ModTime().UnixNano(); got != want {
			t.Errorf("the time of change is %d, want %d", got, want)
		}
	}
	same(*spec.Mtime)
	for _, at := range []int64{7, 0} {
		must(t, h.EditFileAt(context.Background(), "/f", func([]byte) ([]byte, *int64, error) { return fmt.Append(nil, at), &at, nil }))
		same(at)
	}
}
