package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// After an undo, the link's manager still manages the link: networkd calls it configured, and not
// failed. So networkd acts on the next file, and that file is judged by its own effect. networkctl
// and ip judge.
//
// The lines that keep it: pkg/checkpoint/undo/restore_units.go, act; pkg/checkpoint/undo.go,
// restore (SetUp); pkg/checkpoint/probe/link_managers.go, unmanagedProof;
// pkg/host/link_managers.go, SetUpLink; pkg/host/link_managers.go, LinkSetup (a reload that takes
// longer than the probes).
func TestAnUndoLeavesNetworkdConfigured(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Files: map[string]string{
		"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\nprobeWindow: 9s\n",
	}}))
	const addresses = "ip -o addr show host0 scope global | awk '{print $4}' | sort"
	n.Shell(ctx, "netwright --once || netwright --once")
	cut{networkd: true}.settled(t, n)
	leased := networkFile("05-host0.network", "[Match]\nName=host0\n[Link]\nUnmanaged=yes\n")
	for _, c := range []struct{ name, files, first, why string }{
		{name: "the uplink becomes a port of a bridge", why: `"bad":true`, files: networkFile("05-br.netdev", "[NetDev]\nName=brx\nKind=bridge\n") +
			assetFile("/etc/systemd/network/05-host0.network", "[Match]\nName=host0\n[Network]\nBridge=brx\n")},
		{name: "a wrong address", why: `"bad":true`, files: networkFile("05-host0.network", "[Match]\nName=host0\n[Network]\nAddress=192.0.2.7/24\n")},
		{name: "nobody manages an uplink with a lease", files: leased,
			first: "ip addr add 10.77.0.55/24 dev host0 valid_lft 36000 preferred_lft 36000",
			why:   `"bad":true,.*managed:systemd-networkd/host0 \(systemd-networkd does not manage link host0 any more, so no program renews 10\.77\.0\.55/24\)`},
		{name: "the same, and the reload takes longer than the window", files: strings.Replace(leased, "05-host0", "05-slow-host0", 1),
			why: `"why":"managed:systemd-networkd/host0 \(systemd-networkd says of link host0: being set up\)"`,
			first: "mkdir -p /run/systemd/system/systemd-networkd.service.d\n" +
				"printf '[Service]\\nExecReload=\\nExecReload=sleep 15\\nExecReload=networkctl reload\\n' >/run/systemd/system/systemd-networkd.service.d/slow.conf\n" +
				"systemctl daemon-reload"},
	} {
		n.Shell(ctx, "rm -f /var/lib/netwright/checkpoint/verdict.json\n"+c.first+"\ntrue")
		before := n.Shell(ctx, addresses)
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", c.files+"  networking:", 1), 0o644)
		res := n.Run(ctx, "netwright", "--once")
		if verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json"); res.Code != 1 || !regexp.MustCompile(c.why).MatchString(verdict) {
			t.Errorf("%s: exit %d, the verdict is %s, want one with %q\n%s%s", c.name, res.Code, verdict, c.why, res.Stdout, res.Stderr)
		}
		if now := n.Must(ctx, "networkctl", "--no-legend", "list", "host0"); !strings.Contains(now, " configured") {
			t.Errorf("%s: networkd says after the undo: %s", c.name, now)
		}
		if gaveUp := n.Shell(ctx, "journalctl --no-pager --unit=systemd-networkd | grep 'host0: Failed' || true"); gaveUp != "" {
			t.Errorf("%s: networkd gave the link up: %s", c.name, gaveUp)
		}
		if now := n.Shell(ctx, addresses); now != before {
			t.Errorf("%s: the addresses were %s and are %s", c.name, before, now)
		}
		if left := n.Shell(ctx, "ls /etc/systemd/network; ip -o link show type bridge"); strings.Contains(left, "05-br") || strings.Contains(left, "05-host0") || strings.Contains(left, "05-slow") || strings.Contains(left, "brx") {
			t.Errorf("%s: left of it: %s", c.name, left)
		}
	}
}

// A change makes NetworkManager give up the uplink. The agent undoes the change, and NetworkManager
// sets the link up again.
//
// The lines that keep it: pkg/checkpoint/probe/link_managers.go, askManager and SetUp;
// pkg/host/link_managers.go, SetUpLink.
func TestAnUndoActsThroughNetworkManager(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	s := calicoStore(t)
	n := serve(t).Node(t, manager(t, s))
	until(t, n, "NetworkManager is up", managed)
	n.Must(ctx, "netwright", "--once")
	until(t, n, "NetworkManager is up", managed)
	n.Write("/etc/netwright/agent.yaml", agentFile("9s"), 0o644)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, calicoSpec+`  hooks:
  - name: leave.service
    manifest: |
      [Service]
      Type=oneshot
      ExecStart=/usr/bin/nmcli device disconnect host0
`), 0o644)
	res := n.Run(ctx, "netwright", "--once")
	verdict := n.Run(ctx, "cat", "/var/lib/netwright/checkpoint/verdict.json").Stdout
	for _, want := range []string{`"bad":true`, "managed:NetworkManager/host0 ("} {
		if res.Code != 1 || !strings.Contains(verdict, want) {
			t.Errorf("exit %d, the verdict is %s, want one with %s\n%s%s", res.Code, verdict, want, res.Stdout, res.Stderr)
		}
	}
	n.Shell(ctx, managed)
}
