package node_test

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, node.Options{Name: "n", Address: "10.77.0.11", Files: map[string]string{"/etc/same": "same"}})
	n.Shell(ctx, "nft add table inet lab; nft add chain inet lab c '{ type filter hook input priority 0; }'; nft add rule inet lab c counter")

	before := n.Snapshot()
	n.Must(ctx, "ping", "-c1", "-w20", node.Gateway4) // so the node has a journal, counters and neighbours
	if lines := node.Diff(before, n.Snapshot()); len(lines) != 0 {
		t.Errorf("nothing was changed, but the snapshots differ:\n%s", strings.Join(lines, "\n"))
	}

	for _, c := range []struct{ name, change, want string }{
		{"a new file", "touch /etc/new", "+ file /etc/new: mode=100644 "},
		{"a removed file of the base", "rm /etc/issue", "+ file /etc/issue: mode=20000 "},
		{"the same content again", "cp /etc/same /etc/.tmp; mv /etc/.tmp /etc/same", "~ file /etc/same: "},
		{"the same mode again", "chmod 0644 /etc/same", "~ file /etc/same: "},
		{"a file in /run", "mkdir -p /run/systemd/network; touch /run/systemd/network/x", "+ file /run/systemd/network/x: "},
		{"a link", "ip link add lab0 type bridge", `+ link {`},
		{"an address", "ip addr add 192.0.2.7/32 dev lo", `+ address {`},
		{"a route", "ip route add 192.0.2.0/24 via " + node.Gateway4, `+ route {"dev":"host0","dst":"192.0.2.0/24"`},
		{"a route of IPv6 in another table", "ip -6 route add blackhole 2001:db8:1::/64 table 77", `+ route6 {"dev":"lo","dst":"2001:db8:1::/64"`},
		{"a rule", "ip rule add fwmark 7 table 77", `+ rule {`},
		{"the same nft rule again", "nft flush chain inet lab c; nft add rule inet lab c counter", `+ nft {"rule":`},
		{"a sysctl", "echo 1 >/proc/sys/net/ipv4/ip_forward", "~ sysctl net.ipv4.ip_forward: 0 → 1"},
	} {
		before := n.Snapshot()
		n.Shell(ctx, c.change)
		lines := node.Diff(before, n.Snapshot())
		found := false
		for _, line := range lines {
			found = found || strings.HasPrefix(line, c.want)
		}
		if !found {
			t.Errorf("%s: want a line that begins with %q, have\n%s", c.name, c.want, strings.Join(lines, "\n"))
		}
	}
}
