package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// packageFiles is how many files a converge of this test writes. It is so large that a package can
// replace the agent in the middle.
const packageFiles = 300

// replaceAsDpkg replaces a running program as dpkg does. It puts the new file beside the old one,
// keeps a link to the old one, renames the new file over the name and removes the link. Then the
// unit restarts if it runs, as deb-systemd-invoke does in a postinst.
// https://salsa.debian.org/dpkg-team/dpkg/-/blob/main/src/main/unpack.c (tarobject),
// https://manpages.debian.org/bookworm/dh_installsystemd
const replaceAsDpkg = `cp %[1]s /usr/bin/netwright.dpkg-new
ln -f /usr/bin/netwright /usr/bin/netwright.dpkg-tmp
mv -T /usr/bin/netwright.dpkg-new /usr/bin/netwright
rm /usr/bin/netwright.dpkg-tmp
systemctl daemon-reload
systemctl try-restart netwright-agent
touch %[2]s`

// A package replaces the agent in the middle of a converge, with a newer and with an older version.
// At whatever moment that is, the node ends as wanted. No file is half written, nothing is left
// over, and the version that was installed last runs.
func TestAPackageReplacesTheAgent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, bridgeSpec, nil)
	s.write(t, "nodes/node-1.yaml", goodNode(goodPods))
	spec := bridgeSpec + s.pluginSpec(t)
	documentOf := func(round int) string {
		var files strings.Builder
		for i := range packageFiles {
			fmt.Fprintf(&files, "  - {path: /srv/many/%03d, mode: \"0644\", content: \"round %d\\n\"}\n", i, round)
		}
		return document("Cluster", cluster, spec+"  update: {splay: 0s}\n  fileAssets:\n"+files.String()+fmt.Sprintf("  sysctlParameters: [net.ipv4.conf.host0.arp_announce=%d]\n", round%3))
	}
	s.write(t, "cluster.yaml", documentOf(0))
	conf := map[string]string{"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n"}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: conf}))
	n.Shell(ctx, "cp /usr/bin/netwright /run/v1; cp /usr/bin/netwright /run/v2; echo >>/run/v2; cmp -s /run/v1 /run/v2 && exit 1; systemctl start netwright-agent")

	for round := 1; round <= 4; round++ {
		version, done := fmt.Sprintf("/run/v%d", 1+round%2), fmt.Sprintf("/run/replaced-%d", round)
		// The package comes when the converge has staged or written its first file, and later in
		// each round.
		n.Start(ctx, fmt.Sprintf("package-%d", round), "/bin/sh", "-c", fmt.Sprintf("until ls -A /srv/many | grep -q '^.netwright-' || grep -q 'round %d' /srv/many/000; do :; done; sleep 0.0%d\n", round, 2*(round-1))+
			fmt.Sprintf(replaceAsDpkg, version, done))
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", documentOf(round), 0o644)
		until(t, n, "the package is installed", "test -e "+done)
		until(t, n, "what it brought runs", "cmp -s "+version+" /proc/$(systemctl show -p MainPID --value netwright-agent)/exe")
		until(t, n, "the node is right", fmt.Sprintf("test $(cat /proc/sys/net/ipv4/conf/host0/arp_announce) = %d && test $(cat /srv/many/* | grep -c 'round %d$') = %d && netwright status", round%3, round, packageFiles))
		if left := n.Shell(ctx, "find /srv/many /etc /opt/cni /usr/bin /var/lib/netwright -name '.netwright-*' -o -name 'batch-*.json' -o -name '*.dpkg-*'"); left != "" {
			t.Errorf("round %d: left over:\n%s", round, left)
		}
	}
	if state := n.Shell(ctx, "systemctl is-failed netwright-agent || true; ls /var/lib/netwright/checkpoint 2>/dev/null || true"); strings.Contains(state, "failed") || strings.Contains(state, "journal.json") {
		t.Errorf("after all that: %s", state)
	}
	if out := n.Must(ctx, "netwright", "--dry-run"); !strings.Contains(out, "nothing to do") {
		t.Errorf("a dry run:\n%s", out)
	}

	// An older version does not know the form of the ledger any more: it refuses, names the newer
	// version, and changes neither the node nor the ledger.
	before := n.Shell(ctx, "cat /var/lib/netwright/journal | sha256sum; cat /srv/many/* | sha256sum")
	n.Shell(ctx, "systemctl stop netwright-agent; echo '2 v9.9.9' > /var/lib/netwright/format; systemctl start --no-block netwright-agent")
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", documentOf(9), 0o644)
	until(t, n, "the daemon says what is wrong", "netwright status | grep -q 'written by netwright v9.9.9'")
	for _, command := range []string{"--once", "--dry-run", "reset", "rollback", "history"} {
		res := n.Run(ctx, "/bin/sh", "-c", "netwright "+command)
		if res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "install that version, or a later one, again") {
			t.Errorf("%s ends with %d:\n%s%s", command, res.Code, res.Stdout, res.Stderr)
		}
	}
	if after := n.Shell(ctx, "cat /var/lib/netwright/journal | sha256sum; cat /srv/many/* | sha256sum"); after != before {
		t.Error("the refusing version changed the node or the ledger")
	}
	n.Shell(ctx, "rm /var/lib/netwright/format; systemctl restart netwright-agent")
	until(t, n, "the version that knows it goes on", fmt.Sprintf("test $(cat /srv/many/* | grep -c 'round 9$') = %d", packageFiles))
}
