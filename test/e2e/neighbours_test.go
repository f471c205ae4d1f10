package e2e

import (
	"net"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// IPv6 without a default route is also protected: one of the neighbours that answered before the
// change must answer after it. A neighbour that left meanwhile is not missed if another one
// answers. ip judges.
//
// The lines that keep it: pkg/checkpoint/probe/comparison.go, addNeighbours;
// pkg/checkpoint/probe/neighbours.go.
func TestAFamilyOnTheLinkAloneIsNotLost(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/lab-network": "link set host0 up\naddr add 10.77.0.11/24 dev host0\n" +
			"addr add fd00:77::11/64 dev host0 nodad\nroute add default via " + node.Gateway4 + "\n",
		"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\nprobeWindow: 6s\n",
	}}))
	netns := strings.TrimPrefix(f.Netns(), "/run/netns/")
	const other = "fd00:77::9" // a second neighbour
	command(t, "ip", "-n", netns, "addr", "add", other+"/64", "dev", "br0", "nodad")
	talk := func() { // so the node knows its neighbours, as in normal use
		t.Helper()
		for _, from := range []string{node.Gateway6, other} {
			err := f.Do(func() error {
				local := &net.UDPAddr{IP: net.ParseIP(from)}
				c, err := net.DialUDP("udp6", local, &net.UDPAddr{IP: net.ParseIP("fd00:77::11"), Port: 9})
				if err == nil {
					_, err = c.Write([]byte("x"))
					c.Close()
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			until(t, n, "the node knows "+from, "ip -6 neigh show "+from+" dev host0 | grep -qE 'REACHABLE|STALE|DELAY|PROBE'")
		}
	}
	n.Shell(ctx, "netwright --once || netwright --once")
	cut{}.settled(t, n)
	talk()
	off := strings.Replace(good, "  networking:", "  sysctlParameters: [net.ipv6.conf.all.disable_ipv6=1]\n  networking:", 1)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", off, 0o644)
	res := n.Run(ctx, "netwright", "--once")
	verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json")
	for _, want := range []string{`"bad":true`, "neighbour:host0/" + node.Gateway6, "neighbour:host0/" + other} {
		if res.Code != 1 || !strings.Contains(verdict, want) {
			t.Errorf("exit %d, the verdict is %s, want one with %s\n%s%s", res.Code, verdict, want, res.Stdout, res.Stderr)
		}
	}
	if now := n.Must(ctx, "ip", "-6", "addr", "show", "host0"); !strings.Contains(now, "fd00:77::11/64") {
		t.Errorf("after the undo: %s", now)
	}

	// Another change has no effect on the link, while one of the neighbours leaves.
	n.Write("/etc/netwright/agent.yaml", "store: /srv/netwright\ncluster: "+cluster+"\nnode: node-1\nprobeWindow: 1m\n", 0o644)
	cut{}.settled(t, n)
	talk()
	n.Shell(ctx, "rm -f /var/lib/netwright/checkpoint/verdict.json") // of the change above
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", `  hooks:
  - name: leave.service
    manifest: |
      [Service]
      Type=oneshot
      ExecStart=/bin/sh -c 'until test -e /run/left; do sleep 0.1; done'
  networking:`, 1), 0o644)
	n.Start(ctx, "changing", "netwright", "--once")
	until(t, n, "the change is under a checkpoint", "test -e /var/lib/netwright/checkpoint/journal.json")
	command(t, "ip", "-n", netns, "addr", "del", other+"/64", "dev", "br0")
	n.Shell(ctx, "touch /run/left")
	until(t, n, "the checkpoint is over", "test ! -e /var/lib/netwright/checkpoint/journal.json && ! systemctl is-active -q changing")
	if res := n.Run(ctx, "test", "-e", "/var/lib/netwright/checkpoint/verdict.json"); res.Code == 0 {
		t.Errorf("the change was undone: %s", n.Read("/var/lib/netwright/checkpoint/verdict.json"))
	}
	out := n.Must(ctx, "netwright", "history", "-o", "json")
	if !strings.Contains(out, `"any:neighbour:host0/`+node.Gateway6) {
		t.Errorf("the history does not say by which probes the change stayed: %s", out)
	}
}
