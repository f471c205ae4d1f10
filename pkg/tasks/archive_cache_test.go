package tasks

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/test/needs"
)

// keptFiles returns the names of the kept copies.
func keptFiles(t *testing.T, root string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(root + memberCacheDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func keptFile(root, content string) string {
	return root + memberCachePath(hostfs.Member{SHA256: blob.Of([]byte(content)).Sum})
}

// The kept copies restore what was removed, emptied or overwritten, without a request. The lines
// that keep it: archive_cache.go, fromCache; pkg/host/hostfs/batch_copy.go, Copy.
func TestArchiveFromWhatIsKept(t *testing.T) {
	h, root := onDisk(t)
	a, s := plugins(t)
	converge(t, h, a)
	ok(t, a.Cache(t.Context(), h), a.Cache(t.Context(), h))
	bridge, loopback := root+"/opt/cni/bin/bridge", root+"/opt/cni/bin/loopback"
	if got := keptFiles(t, root); len(got) != 2 {
		t.Fatalf("kept: %v", got)
	}
	if info, err := os.Stat(keptFile(root, "loopback")); err != nil || info.Mode() != 0o600 {
		t.Errorf("Stat returns %v, %v", info, err)
	}
	a.URLs = nil
	ok(t, os.Truncate(bridge, 0), os.Remove(loopback)) // emptied in place, and removed
	converge(t, h, a)
	wantFile(t, loopback, "loopback", 0o755, 0)
	wantFile(t, bridge, strings.Repeat("bridge", 5000), 0o755, 0)
	ok(t, os.Remove(bridge), a.Available(t.Context(), h))
	if _, err := os.Stat(bridge); err == nil {
		t.Error("Available installed the plugin")
	}
	if len(s.asked) != 1 {
		t.Errorf("asked for %q", s.asked)
	}
}

// A kept copy that was altered is thrown away, and the archive is fetched. If it cannot be fetched,
// the error says both. The lines that keep it: pkg/host/hostfs/batch_copy.go, Copy (the
// comparisons); archive_cache.go, fromCache (Remove).
func TestArchiveFromDamagedCopies(t *testing.T) {
	h, root := onDisk(t)
	a, s := plugins(t)
	converge(t, h, a)
	ok(t, a.Cache(t.Context(), h))
	kept, loopback := keptFile(root, "loopback"), root+"/opt/cni/bin/loopback"
	spoil := func() { ok(t, os.WriteFile(kept, []byte("tampered"), 0o600), os.Remove(loopback)) }
	spoil()
	converge(t, h, a)
	wantFile(t, loopback, "loopback", 0o755, 0)
	if _, err := os.Stat(kept); err == nil || len(s.asked) != 2 {
		t.Errorf("the damaged copy: %v; asked for %q", err, s.asked)
	}
	ok(t, a.Cache(t.Context(), h))
	wantFile(t, kept, "loopback", 0o600, 0)

	spoil()
	clear(s.bodies)
	for range 2 {
		err := a.Apply(t.Context(), h, plan(t, a, h.Live.View()))
		if err == nil || !strings.Contains(err.Error(), "put the archive with sha256") {
			t.Fatalf("got %v, want where to put the archive", err)
		}
		said := strings.Contains(err.Error(), "kept copies of its files were damaged, and were deleted: ") &&
			strings.Contains(err.Error(), kept[len(root):]+" is damaged")
		if said != (len(s.asked) == 3) {
			t.Errorf("after %d requests: %v", len(s.asked), err)
		}
	}
	if _, err := os.Stat(loopback); err == nil {
		t.Error("something was installed")
	}
}

// Installed files are kept only if they are what the archive has. If the disk is full or nearly
// full, the error says so, and no part of a copy stays. The lines that keep it: archive_cache.go,
// Cache.
func TestArchiveKeepsOnlyWhatIsRight(t *testing.T) {
	needs.Root(t)
	h, root := onDisk(t)
	a, _ := plugins(t)
	converge(t, h, a)
	ok(t, os.WriteFile(root+"/opt/cni/bin/loopback", []byte("tampered"), 0o755), a.Cache(t.Context(), h))
	if got := keptFiles(t, root); len(got) != 1 || filepath.Base(keptFile(root, strings.Repeat("bridge", 5000))) != got[0] {
		t.Errorf("kept: %v", got)
	}
	converge(t, h, a)
	ok(t, os.RemoveAll(root+memberCacheDir), os.Mkdir(root+memberCacheDir, 0o700), unix.Mount("tmpfs", root+memberCacheDir, "tmpfs", 0, "size=56k"))
	t.Cleanup(func() { _ = unix.Unmount(root+memberCacheDir, unix.MNT_DETACH) })
	if err := a.Cache(t.Context(), h); err == nil || !strings.Contains(err.Error(), "more than half of the free space") {
		t.Errorf("Cache returns %v", err)
	}
	if got := keptFiles(t, root); len(got) != 0 {
		t.Errorf("kept: %v", got)
	}
}

// Copies are removed unless they belong to an archive that may be wanted again. The lines that keep
// it: archive_cache.go, ForgetArchives.
func TestForgetArchives(t *testing.T) {
	h, root := onDisk(t)
	ok(t, ForgetArchives(h, nil))
	a, _ := plugins(t)
	b, s := plugins(t)
	body := tgz(t, map[string]string{"bridge": "newer", "loopback": "loopback"})
	b.Sum, s.bodies["assets/plugins.tgz"] = archive.ChecksumOf(body), body
	for _, v := range []Archive{a, b} {
		converge(t, h, v)
		ok(t, v.Cache(t.Context(), h))
	}
	if got := keptFiles(t, root); len(got) != 3 {
		t.Errorf("kept: %v", got)
	}
	ok(t, ForgetArchives(h, []Archive{a, b}))
	if got := keptFiles(t, root); len(got) != 3 {
		t.Errorf("kept: %v", got)
	}
	ok(t, ForgetArchives(h, []Archive{b}))
	want := []string{filepath.Base(keptFile(root, "loopback")), filepath.Base(keptFile(root, "newer"))}
	slices.Sort(want)
	if got := keptFiles(t, root); !slices.Equal(got, want) {
		t.Errorf("kept: %v", got)
	}
	if _, err := os.Stat(root + a.receiptPath()); err == nil || plan(t, b, h.Live.View()) != nil {
		t.Errorf("the receipts: %v, %v", err, plan(t, b, h.Live.View()))
	}
}
