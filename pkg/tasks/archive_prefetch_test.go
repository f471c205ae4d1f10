package tasks

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/host"
)

// prefetch prefetches an archive, and waits for it.
func prefetch(t *testing.T, h *host.Host, a Archive) *ArchivePrefetch {
	t.Helper()
	f := a.Prefetch(t.Context(), h)
	if f == nil {
		t.Fatal("nothing was begun")
	}
	t.Cleanup(f.Discard)
	<-f.done
	return f
}

// Only Apply puts a prefetched archive in place, and it does not fetch the archive again. An
// archive with a receipt is not prefetched, since a copy may be kept.
func TestArchivePrefetched(t *testing.T) {
	h, root := onDisk(t)
	a, s := plugins(t)
	f := prefetch(t, h, a)
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("before it is applied: %v, %v", left, err)
	}
	ok(t, f.Apply(t.Context(), h))
	wantFile(t, root+"/opt/cni/bin/loopback", "loopback", 0o755, 0)
	if c := plan(t, a, h.Live.View()); c != nil || len(s.asked) != 1 {
		t.Errorf("applied: %v; asked %q", lines(c), s.asked)
	}
	ok(t, os.Remove(root+"/opt/cni/bin/loopback"), f.Apply(t.Context(), h)) // again, as after an error
	wantFile(t, root+"/opt/cni/bin/loopback", "loopback", 0o755, 0)
	ok(t, os.Remove(root+"/opt/cni/bin/loopback"))
	if a.Prefetch(t.Context(), h) != nil {
		t.Error("an archive that is known is prefetched")
	}
}

// A prefetch that is discarded leaves nothing, also in the middle of the download.
func TestArchivePrefetchedIsDiscarded(t *testing.T) {
	h, root := onDisk(t)
	a, _ := plugins(t)
	a.Prefetch(t.Context(), h).Discard()
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("discarded: %v, %v", left, err)
	}
}

// An URL that failed is not asked again by the same Apply, but by the next one.
func TestArchivePrefetchedFails(t *testing.T) {
	for name, spoil := range map[string]func(*shelf){
		"not there": func(s *shelf) { delete(s.bodies, "https://mirror/first") },
		"breaks":    func(s *shelf) { s.breaks["https://mirror/first"] = errors.New("connection reset") },
		"another":   func(s *shelf) { s.bodies["https://mirror/first"] = tgz(s.t, map[string]string{"bridge": "evil"}) },
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := onDisk(t)
			a, s := plugins(t)
			s.bodies["https://mirror/first"] = s.bodies["assets/plugins.tgz"]
			spoil(s)
			a.URLs = []string{"https://mirror/first", "assets/plugins.tgz"}
			ok(t, prefetch(t, h, a).Apply(t.Context(), h))
			if !slices.Equal(s.asked, a.URLs) {
				t.Errorf("asked %q", s.asked)
			}
			if c := plan(t, a, h.Live.View()); c != nil {
				t.Errorf("applied: %v", lines(c))
			}
		})
	}
}

// An archive is right and lacks a wanted member. It is not fetched a second time to say so.
func TestArchivePrefetchedIsWrong(t *testing.T) {
	h, _ := onDisk(t)
	a, s := plugins(t)
	a.Members = []string{"bridge", "none"}
	if err := prefetch(t, h, a).Apply(t.Context(), h); err == nil || !strings.Contains(err.Error(), `has no member "none"`) {
		t.Errorf("apply: %v", err)
	}
	if len(s.asked) != 1 {
		t.Errorf("asked %q", s.asked)
	}
}

// If the prefetched archive has no room, or if its place is on another file system by then, it is
// fetched again, as without a prefetch.
func TestArchivePrefetchedCannotBeUsed(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"room":  nil,
		"mount": func(t *testing.T, dir string) { mountTmpfs(t, dir, "") },
	} {
		t.Run(name, func(t *testing.T) {
			h, root := onDisk(t)
			a, s := plugins(t)
			if spoil == nil {
				ok(t, os.Mkdir(root+"/opt", 0o755))
				mountTmpfs(t, root+"/opt", "size=256k")
				body := tgz(t, map[string]string{"bridge": strings.Repeat("bridge", 25_000), "loopback": "loopback"})
				s.bodies["assets/plugins.tgz"], a.Sum = body, archive.ChecksumOf(body)
			}
			f := prefetch(t, h, a)
			dir := root + "/opt/cni/bin"
			ok(t, os.MkdirAll(dir, 0o755))
			if spoil != nil {
				spoil(t, dir)
			}
			ok(t, f.Apply(t.Context(), h))
			wantFile(t, dir+"/loopback", "loopback", 0o755, 0)
			if len(s.asked) != 2 {
				t.Errorf("asked %q", s.asked)
			}
		})
	}
}

func mountTmpfs(t *testing.T, dir, data string) {
	t.Helper()
	ok(t, unix.Mount("tmpfs", dir, "tmpfs", 0, data))
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}
