package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/test/hostroot"
)

// No pass on this node has ended right, but it is a node of the fleet. It does not take a changed
// configuration for zero percent of the nodes, nor a frozen one. But neither a class nor a moment
// keeps back there what may make the node right. The lines that keep it:
// pkg/reconcile/rollout/update.go, Changes and weigh (neverRight).
func TestANodeThatWasNeverRightIsOneOfAHundred(t *testing.T) {
	b, publish := fleetNode(t)
	archive := filepath.Join(b.store, "demo", "plugins.tar")
	if err := os.Rename(archive, archive+".away"); err != nil {
		t.Fatal(err)
	}
	has := func(t *testing.T, update, content, want string, waits bool) {
		t.Helper()
		publish(t, update, content)
		later(11 * time.Minute)
		got := hostroot.Read(t, b.root, "/etc/systemd/network/50-x.network")
		if u := b.waits(t); got != "# "+want || (u != nil) != waits || b.has("/opt/cni/bin/bridge") {
			t.Errorf("%s: it has %q, want %q, and waits: %+v", update, got, want, u)
		}
	}
	publish(t, "{percent: 0}", "one")
	b.live(t, func(t *testing.T) { // it has no configuration, and takes the published one
		has(t, "{percent: 0}", "two", "one", true)
		has(t, "{freeze: true}", "three", "one", true)
		has(t, "{auto: live, splay: 1h}", "four", "four", false)
	})
}
