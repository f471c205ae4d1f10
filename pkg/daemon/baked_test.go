package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// Changes that were baked into an image keep nothing back. The image's first boot takes what is
// published by then, whatever spec.update says. After that the machine is like any other, and a
// change waits.
func TestWhatWasBakedWaitsForNobody(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: live, splay: 0s}", "one")
	bootID := filepath.Join(b.root, "proc/sys/kernel/random/boot_id")
	if err := os.Remove(bootID); err != nil { // no boot happens below an image's root
		t.Fatal(err)
	}
	d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.daemon.Pass.Converge(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	hostroot.Put(t, b.root, "/proc/sys/kernel/random/boot_id", "boot\n")
	publish(t, "{auto: live, splay: 0s}", "two")
	b.live(t, func(t *testing.T) {
		if got := hostroot.Read(t, b.root, "/etc/systemd/network/50-x.network"); got != "# two" || b.waits(t) != nil {
			t.Errorf("the first boot has %q, and waits: %+v", got, b.waits(t))
		}
		publish(t, "{auto: live, splay: 0s}", "three")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/systemd/network/50-x.network"); got != "# two" || b.waits(t) == nil {
			t.Errorf("a machine that is up with it has %q, and waits: %+v", got, b.waits(t))
		}
	})
}
