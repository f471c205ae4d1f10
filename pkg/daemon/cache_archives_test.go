package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/ledger"
)

const members = "/var/lib/netwright/assets/members"

// A node keeps copies of its plugins. When the store and the archive are gone, the daemon of the
// next boot restores plugins that were removed or emptied. The lines that keep it:
// pkg/reconcile/carry_out.go, cacheArchives; pkg/tasks/archive.go, Apply (restore).
func TestPluginsOutliveTheStore(t *testing.T) {
	s := newSigner(t)
	s.publish(t, "")
	s.restart(t)
	s.live(t, func(t *testing.T) {
		if s.has(members) {
			t.Error("a pass that installs has kubelet waiting, and copied")
		}
		later(15 * time.Minute)
	})
	if kept, err := os.ReadDir(s.root + members); err != nil || len(kept) != 4 {
		t.Fatalf("kept: %v, %v", kept, err)
	}
	if err := errors.Join(os.RemoveAll(s.store), os.Remove(s.root+"/opt/cni/bin/bridge"), os.Truncate(s.root+"/opt/cni/bin/loopback", 0)); err != nil {
		t.Fatal(err)
	}
	s.restart(t)
	s.live(t, func(t *testing.T) {
		later(time.Second)
		if s.manager.count("ready") != 1 {
			t.Errorf("s.manager.last(t) is %+v", s.manager.last(t))
		}
	})
	for _, name := range []string{"bridge", "loopback"} {
		if got, err := os.ReadFile(s.root + "/opt/cni/bin/" + name); err != nil || string(got) != name {
			t.Errorf("%s: ReadFile returns %q, %v, want %q", name, got, err, name)
		}
	}
}

// If the disk has no room for the copies, the agent notes that once. The node is right. The line
// that keeps it: pkg/reconcile/carry_out.go, cacheArchives.
func TestNoRoomToKeepPlugins(t *testing.T) {
	b := newBox(t)
	at := b.root + members
	if err := errors.Join(os.MkdirAll(at, 0o700), unix.Mount("tmpfs", at, "tmpfs", 0, "nr_inodes=1")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	b.live(t, func(t *testing.T) {
		later(time.Hour)
		if last := b.manager.last(t); strings.Contains(last.text, "not converged") || strings.Contains(last.text, "failed") {
			t.Errorf("last returns %+v", last)
		}
	})
	if n := b.log.FilterMessageSnippet("the installed files are right").Len(); n != 1 {
		t.Errorf("said %d times:\n%v", n, b.log.All())
	}
}

// A rollback needs no mirror for the plugins of its revision. Copies that no revision has any more
// are removed. The lines that keep it: pkg/tasks/archive.go, Available;
// pkg/reconcile/ownership/forget_archives.go, forgetArchives.
func TestRollbackToKeptPlugins(t *testing.T) {
	b := newBox(t)
	b.daemon.Pass.Ready = true
	kept := func() int {
		t.Helper()
		b.pass(t, false) // a pass that finds the archive right keeps a copy
		names, err := os.ReadDir(b.root + members)
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	b.pass(t, false)
	if n := kept(); n != 4 {
		t.Fatalf("%d kept", n)
	}
	b.document(t, b.plugins(t, "plugins-2.tar", " 2"))
	b.pass(t, false)
	if n := kept(); n != 8 {
		t.Fatalf("%d kept of two revisions", n)
	}
	if err := os.Remove(filepath.Join(b.store, "demo/plugins.tar")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.daemon.Pass.Rollback(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(b.root + "/opt/cni/bin/bridge"); err != nil || string(got) != "bridge" {
		t.Errorf("ReadFile returns %q, %v, want %q", got, err, "bridge")
	}
	if _, err := b.daemon.Pass.Session().Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range ledger.MaxRevisions {
		b.document(t, b.plugins(t, "plugins-2.tar", " 2")+fmt.Sprintf("  sysctlParameters: [net.core.somaxconn=%d]\n", 1000+i))
		b.pass(t, false)
	}
	if n := kept(); n != 4 {
		t.Errorf("%d kept when the first revision was gone", n)
	}
}
