package e2e

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/rerun"
)

// A switch removes logs that are large together and on another file system. Its undo restores them,
// and the journal stays small enough to read. The lines that keep it:
// pkg/checkpoint/undo/capture.go, file and SaveFiles; pkg/reconcile/take_checkpoint.go.
func TestSwitchTakesLargeLogsBack(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	n := newSwitchNode(t, "    flannel: {backend: vxlan}\n", "probes: [\"tcp:127.0.0.1:7777\"]\nprobeWindow: 5s\n")
	answers := listen(t, n, netip.MustParseAddrPort("127.0.0.1:7777"))
	n.Must(ctx, "sh", "-c", "mkdir -p /run/flannel/log; for i in $(seq 17); do head -c 3000000 /dev/urandom >/run/flannel/log/$i; done; sha256sum /run/flannel/log/* >/srv/sums; rm /run/go")
	n.wants("    bridge: {}\n    switch: {allow: true}\n")
	n.Start(ctx, "switch.service", "netwright", "--once")
	n.until("test -e /run/stopping")
	if size := n.Must(ctx, "stat", "-c", "%s", "/var/lib/netwright/checkpoint/journal.json"); len(strings.TrimSpace(size)) > 7 {
		t.Errorf("the journal has %s bytes", size)
	}
	answers.Close() // the probe fails from now on
	n.Must(ctx, "touch", "/run/go")
	n.until("! systemctl is-active -q switch.service && test ! -e /var/lib/netwright/checkpoint/journal.json")
	n.Must(ctx, "sha256sum", "--quiet", "-c", "/srv/sums")
	if history := n.Must(ctx, "netwright", "history"); !strings.Contains(history, "undone: ") {
		t.Errorf("history:\n%s", history)
	}
}
