package directory

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// While another process has the lock of the store, a manifest is not replaced. In place of another
// process the test has a lock of an open file description, which conflicts with the lock of the
// same process, too. The line that keeps it: writer.go, Replace (ipc.Lock).
func TestAManifestIsReplacedByOneProcessAtATime(t *testing.T) {
	d, err := NewWriter(t.TempDir(), "demo")
	if err != nil {
		t.Fatal(err)
	}
	other, err := ipc.OpenLock(hostfs.Options{Root: "/"}, d.path(".publish.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() // it has no content
	if err := unix.FcntlFlock(other.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err = d.Replace(over, manifest.Name, []byte("ours"), "")
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "for publishing: wait for "+d.path(".publish.lock")) {
		t.Errorf("Replace beside another process: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Replace(t.Context(), manifest.Name, []byte("ours"), ""); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(d.path(manifest.Name)); err != nil || string(got) != "ours" {
		t.Errorf("after the other process the manifest is %q, %v", got, err)
	}
}
