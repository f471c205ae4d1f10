package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
)

// A node is booted whose plugins came from a mirror. A file that somebody removes, empties or
// overwrites is restored at the next pass, without a request. The next boot needs neither the store
// nor the mirror. The agent does not install from a copy that was altered, and its error says what
// to do. The lines that keep it: pkg/tasks/archive_cache.go; pkg/reconcile/carry_out.go.
func TestPluginsOutliveTheirMirror(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	archive, sum := assets.CNIArchive(t)
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+assetSpec(sum, mirror+"/cni.tgz")))
	if err := os.RemoveAll(s.path("assets")); err != nil {
		t.Fatal(err)
	}
	f := node.NewFabric(t)
	m := serveMirrors(t, f, map[string][]byte{"/cni.tgz": data})
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n",
	}}))
	n.Shell(ctx, "systemctl enable -q --now netwright-agent")
	const kept = "/var/lib/netwright/assets/members"
	until(t, n, "the plugins are kept", "test $(ls "+kept+" | wc -l) = $(ls /opt/cni/bin | wc -l)")
	sums := func() string { t.Helper(); return n.Shell(ctx, "cd /opt/cni/bin; sha256sum *; stat -c '%n %a %U' *") }
	want := sums()
	if asked := m.take(); asked != "/cni.tgz" {
		t.Errorf("the mirror was asked for %q", asked)
	}
	if other := n.Shell(ctx, "find "+kept+" -type f -links +1; find "+kept+" -type f ! -perm 0600"); other != "" {
		t.Errorf("not copies of root's alone: %s", other)
	}

	right := func(what string) {
		t.Helper()
		until(t, n, "the plugins are right after "+what, "cd /opt/cni/bin && sha256sum --status -c <<'END'\n"+n.Shell(ctx, "cat /srv/sums")+"END")
		if got := sums(); got != want {
			t.Errorf("after %s:\n%s\nwant\n%s", what, got, want)
		}
	}
	n.Shell(ctx, "cd /opt/cni/bin; sha256sum * > /srv/sums; rm bridge; : > host-local; printf x | dd of=loopback bs=1 seek=1000 conv=notrunc status=none")
	right("three were spoilt")

	n.Shell(ctx, "rm -r /srv/netwright /opt/cni/bin/bridge; : > /opt/cni/bin/host-local; sync")
	n.Reboot(ctx)
	right("a boot without a store")
	checkBridgeNode(t, n)
	if asked := m.take(); asked != "" {
		t.Errorf("the mirror was asked for %q", asked)
	}

	// The copy is altered too, and the mirror is gone: the agent says so, and installs nothing.
	m.mu.Lock()
	m.files = nil
	m.mu.Unlock()
	of := strings.Fields(n.Shell(ctx, "grep bridge$ /srv/sums"))[0]
	n.Shell(ctx, "systemctl stop netwright-agent; printf x | dd of="+filepath.Join(kept, of)+" bs=1 seek=1000 conv=notrunc status=none; rm /opt/cni/bin/bridge; systemctl start --no-block netwright-agent")
	until(t, n, "it is said", "journalctl -b -u netwright-agent -o cat | grep -q 'put the archive with sha256 "+sum+" at one of the URLs'")
	n.Shell(ctx, "! test -e /opt/cni/bin/bridge && ! test -e "+filepath.Join(kept, of)+" && journalctl -b -u netwright-agent -o cat | grep -q '"+of+" is damaged'")
}
