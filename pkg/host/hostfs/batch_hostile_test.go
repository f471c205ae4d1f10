package hostfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/rerun"
)

// mount mounts something until the test ends.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	must(t, unix.Mount(source, target, kind, flags, data))
	t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// A file that is mounted on a file has another path, where it may be another's. It stays as it is,
// and so do the other files of its batch: a rename cannot replace it, and a write in place would
// change it at its other path, and half of it after a power cut. The lines that keep it:
// pkg/host/hostpath/stat.go, Free; batch_staged.go, enter; writable.go, fixedAt;
// attributes.go, otherNames.
func TestAFileThatIsMountedIsLeft(t *testing.T) {
	needs.Root(t)
	ctx := t.Context()
	h, root := image(t)
	must(t, os.WriteFile(root+"/covered", []byte("below"), 0o644), os.WriteFile(root+"/source", []byte("a long old content"), 0o600))
	mount(t, root+"/source", root+"/covered", "", unix.MS_BIND, "")
	info, err := h.Lstat("/covered")
	if err != nil || !info.Mounted {
		t.Errorf("the mount is not seen: %+v, %v", info, err)
	}
	if info, err := h.Lstat("/source"); err != nil || info.Mounted {
		t.Errorf("no mount, but seen: %+v, %v", info, err)
	}
	before := readTree(t, root)
	for what, do := range map[string]func() error{
		"write": func() error { return h.WriteFile(ctx, "/covered", []byte("new"), self(0o640)) },
		"batch": func() error {
			b := h.Batch()
			defer b.Discard()
			must(t, b.Put("/plain", []byte("plain"), self(0o640)))
			return b.Put("/covered", []byte("new"), self(0o640))
		},
		"unnamed batch": func() error {
			b := h.Batch()
			b.Unnamed()
			must(t, b.Put("/plain", []byte("plain"), self(0o640)), b.Put("/covered", []byte("new"), self(0o640)))
			return b.Commit(ctx)
		},
		"edit": func() error {
			return h.EditFile(ctx, "/covered", func([]byte) ([]byte, error) { return []byte("new"), nil })
		},
		"owner and mode": func() error { return h.SetMeta("/covered", info, self(0o640)) },
		"attributes": func() error {
			return h.SetAttributes("/covered", map[string][]byte{"user.a": []byte("a")})
		},
		"time":              func() error { return h.SetMtime("/covered", 1) },
		"remove":            func() error { return h.Remove("/covered") },
		"plan of a write":   func() error { return h.Writable("/covered", 3) },
		"plan of a removal": func() error { return h.Removable("/covered") },
	} {
		if err := do(); !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), "findmnt /covered") {
			t.Errorf("%s: %v; want EBUSY and the advice findmnt", what, err)
		}
		sameTree(t, root, before)
	}
}

// A network namespace that is mounted on a file may be planned to be removed: the unit that mounted
// it unmounts it before. The line that keeps it: writable.go, fixedAt (NSFS_MAGIC).
func TestAMountedNamespaceMayBeRemoved(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.WriteFile(root+"/netns", nil, 0o444))
	mount(t, "/proc/self/ns/net", root+"/netns", "", unix.MS_BIND, "")
	must(t, h.Removable("/netns"))
	if err := h.Remove("/netns"); !errors.Is(err, unix.EBUSY) {
		t.Errorf("removed while it is mounted: %v", err)
	}
}

// TestOverlay writes on an overlay, since a sandbox and a test node have their root there.
func TestOverlay(t *testing.T) {
	needs.Root(t)
	base := t.TempDir()
	for _, dir := range []string{"lower", "upper", "work", "root"} {
		must(t, os.Mkdir(base+"/"+dir, 0o755))
	}
	must(t, os.WriteFile(base+"/lower/old", []byte("old"), 0o644), os.WriteFile(base+"/lower/older", []byte("old"), 0o644))
	root := base + "/root"
	mount(t, "overlay", root, "overlay", 0, "lowerdir="+base+"/lower,upperdir="+base+"/upper,workdir="+base+"/work")
	h := openImage(t, Options{Root: root})
	b := h.Batch()
	for _, name := range []string{"/old", "/older", "/fresh"} {
		must(t, b.Put(name, []byte("new"), self(0o600)))
	}
	must(t, b.Commit(context.Background()))
	must(t, h.Symlink("/link", "old"), h.Symlink("/link", "older"))
	sameTree(t, root, map[string]string{"/old": "-rw------- new", "/older": "-rw------- new", "/fresh": "-rw------- new", "/link": "Lrwxrwxrwx older"})
}

func TestDiskFull(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.Mkdir(root+"/small", 0o755))
	mount(t, "tmpfs", root+"/small", "tmpfs", 0, "size=64k")
	must(t, h.WriteFile(context.Background(), "/small/old", []byte("old"), self(0o644)))
	before := readTree(t, root)
	b := h.Batch()
	must(t, b.Put("/small/old", []byte("new"), self(0o644)))
	err := b.Put("/small/large", bytes.Repeat([]byte("x"), 128<<10), self(0o644))
	b.Discard()
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "/small/large") || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("got %v", err)
	}
	sameTree(t, root, before)
}

func TestReadOnlyFileSystem(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.Mkdir(root+"/ro", 0o755))
	mount(t, "tmpfs", root+"/ro", "tmpfs", unix.MS_RDONLY, "")
	for _, err := range []error{
		h.WriteFile(context.Background(), "/ro/f", nil, self(0o644)), h.Symlink("/ro/l", "x"), h.Mkdir("/ro/d", 0o755, 0, 0), h.Mkdir("/ro", 0o711, 0, 0),
	} {
		if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), "mount it writable") {
			t.Errorf("got %v", err)
		}
	}
}

// killedEnv names the root that a killed process of the test below works in.
const killedEnv = "NETWRIGHT_TEST_KILLED_ROOT"

const killedFiles = 12

// generation returns the content of file i after the n-th batch: a header, and a body that repeats
// it.
func generation(n, i int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d %02d\n", n, i), 2000)
}

// TestKilledWriter is not a test, but the process that is killed. Until then it writes one batch
// after another.
func TestKilledWriter(t *testing.T) {
	root := os.Getenv(killedEnv)
	if root == "" {
		t.Skip("runs only as the child of TestKillLeavesOldOrNew")
	}
	h := openImage(t, Options{Root: root})
	for n := 1; ; n++ {
		b := h.Batch()
		for i := range killedFiles {
			must(t, b.Put(fmt.Sprintf("/d%d/f%d", i%2, i), generation(n, i), self(0o644)))
		}
		must(t, b.Commit(context.Background()))
		if n == 1 {
			must(t, os.WriteFile(root+"/ready", nil, 0o644))
		}
	}
}

func TestKillLeavesOldOrNew(t *testing.T) {
	rerun.Never(t, "it kills the writer")
	for range 15 {
		root := t.TempDir()
		child := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		child.Env = append(os.Environ(), killedEnv+"="+root)
		must(t, child.Start())
		for wait := 0; ; wait++ {
			if _, err := os.Stat(root + "/ready"); err == nil {
				break
			}
			if wait > 60_000 { // only so that a broken test ends
				t.Fatal("the child wrote no batch")
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(rand.N(15 * time.Millisecond)) // anywhere in a batch
		must(t, child.Process.Kill())
		_ = child.Wait()

		for i := range killedFiles {
			got, err := os.ReadFile(fmt.Sprintf("%s/d%d/f%d", root, i%2, i))
			must(t, err)
			var n, j int
			if _, err := fmt.Sscanf(string(got[:min(len(got), 12)]), "%d %d", &n, &j); err != nil || j != i || !bytes.Equal(got, generation(n, i)) {
				t.Fatalf("file %d is torn: %d bytes, %v", i, len(got), err)
			}
		}
		// A later process removes what the child had staged. So this process takes other marks than
		// the child had.
		start, token := processStart, processToken
		processStart, processToken = time.Now().Add(time.Minute), "LATERLATER"
		h := openImage(t, Options{Root: root})
		must(t, h.WriteFile(context.Background(), "/d0/x", nil, self(0o644)), h.WriteFile(context.Background(), "/d1/x", nil, self(0o644)))
		processStart, processToken = start, token
		if left, _ := filepath.Glob(root + "/d*/.*"); len(left) > 0 {
			t.Fatalf("left: %q", left)
		}
	}
}

// Nothing is staged in a directory that only grows, since it could never be removed. The lines that
// keep it: batch.go, dir; write.go, Symlink; backup.go, linkFile (mayStage).
func TestNothingIsStagedWhereItWouldStay(t *testing.T) {
	needs.Root(t)
	needs.Tool(t, "chattr")
	h, root := image(t)
	must(t, os.Mkdir(root+"/d", 0o755), os.WriteFile(root+"/d/old", []byte("old"), 0o644), os.WriteFile(root+"/kept", nil, 0o600), os.Symlink("a", root+"/d/link"))
	chattr := func(option string) {
		t.Helper()
		if out, err := exec.Command("chattr", option, root+"/d").CombinedOutput(); err != nil {
			t.Fatalf("chattr: %v: %s", err, out)
		}
	}
	chattr("+a")
	defer chattr("-a")
	before, ctx := readTree(t, root), t.Context()
	for name, write := range map[string]func() error{
		"a file":       func() error { return h.WriteFile(ctx, "/d/new", []byte("x"), self(0o644)) },
		"another file": func() error { return h.WriteFile(ctx, "/d/old", []byte("x"), self(0o644)) },
		"a link":       func() error { return h.Symlink("/d/link", "b") },
		"another name": func() error { return h.Restore(ctx, "/kept", "/d/old", self(0o600)) },
		"without a name": func() error {
			b := h.Batch()
			defer b.Discard()
			b.Unnamed()
			return errors.Join(b.Put("/d/new", []byte("x"), self(0o644)), b.Commit(ctx))
		},
	} {
		if err := write(); !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), "only grows") {
			t.Errorf("%s: write returns %v", name, err)
		}
		if got := readTree(t, root); !maps.Equal(got, before) {
			t.Errorf("%s: got  %q\nwant %q", name, got, before)
			before = got
		}
	}
}
