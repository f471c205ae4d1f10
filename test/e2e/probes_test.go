package e2e

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// These are servers of the fabric that the default probes find, each at an address of its own.
const (
	dnsAddress      = "10.79.0.24"
	metadataAddress = "169.254.169.254"
)

// serveAll starts an API server, a name server and a metadata service on a fabric. The gateway
// answers no echo over IPv6, as the gateways of many clouds.
func serveAll(t *testing.T) *node.Fabric {
	t.Helper()
	f := serve(t)
	ns := strings.TrimPrefix(f.Netns(), "/run/netns/")
	command(t, "ip", "-n", ns, "addr", "add", dnsAddress+"/32", "dev", "br0")
	command(t, "ip", "-n", ns, "addr", "add", metadataAddress+"/32", "dev", "br0")
	command(t, "nsenter", "--net="+f.Netns(), "--", "nft", "add table ip6 mute; add chain ip6 mute in { type filter hook input priority 0; }; "+
		"add rule ip6 mute in icmpv6 type echo-request drop")
	var dns net.PacketConn
	var metadata net.Listener
	err := f.Do(func() (err error) {
		if dns, err = net.ListenPacket("udp", dnsAddress+":53"); err != nil {
			return err
		}
		metadata, err = net.Listen("tcp", metadataAddress+":80")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dns.Close(); metadata.Close() })
	go func() {
		for question := make([]byte, 512); ; {
			n, from, err := dns.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = dns.WriteTo(question[:n], from) // the client may be gone
		}
	}()
	go func() {
		for {
			c, err := metadata.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return f
}

// Without a list of the user, the probes are the servers on which the node itself relies. If a
// change cuts off only one of them, the agent undoes the change and names that probe. The lines
// that keep it: pkg/checkpoint/probe/default_probes.go, candidates (each add).
func TestDefaultProbes(t *testing.T) {
	t.Parallel() // the test waits for probes
	ctx := t.Context()
	f := serveAll(t)
	s, good := goodStore(t)
	// The window is long for a change that must pass. For one that must fail it is long enough for
	// a slow machine to try each probe.
	conf := func(window string) string {
		return "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\nprobeWindow: " + window + "\n"
	}
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{
			"/etc/netwright/agent.yaml":   conf("1m"),
			"/etc/resolv.conf":            "nameserver " + dnsAddress + "\n",
			"/var/lib/kubelet/kubeconfig": "clusters:\n- cluster:\n    server: https://" + serverAddress + ":" + serverPort + "\n",
		},
		Copies: map[string]string{"/usr/bin/cutoff": cutoff(t)},
	}))
	// No fact says that this is a machine of a cloud, so no probe asks for metadata, and the change
	// stays.
	n.Must(ctx, "/usr/bin/cutoff", metadataAddress+"/32")
	n.Must(ctx, "nft", "delete", "table", "inet", "netwright-cutoff")
	cloud(ctx, n)

	evil := func(prefix string) []string {
		return []string{"bridge: {}", "bridge: {nodes: [{name: evil, address: 10.77.0.99, podCIDRs: [" + prefix + "]}]}"}
	}
	n.Shell(ctx, "netwright --once || netwright --once")
	n.Write("/etc/netwright/agent.yaml", conf("6s"), 0o644)
	cut{}.settled(t, n)
	before := n.Snapshot()
	for _, c := range []struct {
		probe string
		edit  []string // of the document; otherwise
		drop  string   // a firewall rule drops this
		also  string   // other probes that must fail then
	}{
		{probe: "tcp:" + serverAddress + ":" + serverPort, edit: evil(serverAddress + "/30")},
		{probe: "dns:" + dnsAddress, edit: evil(dnsAddress + "/30")},
		{probe: "ping:" + node.Gateway4, drop: node.Gateway4 + "/32", also: "full:host0/" + node.Gateway4},
		{probe: "neighbour:host0/" + node.Gateway6, edit: []string{"  networking:", "  sysctlParameters: [net.ipv6.conf.host0.disable_ipv6=1]\n  networking:"}, also: "route:::/0 address:" + node.Address6("10.77.0.11")},
		{probe: "tcp:" + metadataAddress + ":80", drop: metadataAddress + "/32"},
	} {
		t.Run(c.probe, func(t *testing.T) {
			ctx := t.Context()
			if c.drop != "" {
				if res := n.Run(ctx, "/usr/bin/cutoff", c.drop); res.Code == 0 {
					t.Errorf("the change stays:\n%s%s", res.Stdout, res.Stderr)
				}
			} else {
				n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, c.edit[0], c.edit[1], 1), 0o644)
				if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 {
					t.Errorf("the change stays: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
				}
			}
			verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json")
			for _, probe := range strings.Fields(c.probe + " " + c.also) {
				if !strings.Contains(verdict, probe+" (") {
					t.Errorf("want a verdict by %s: %s", probe, verdict)
				}
			}
			if !strings.Contains(verdict, `"bad":true`) || strings.Count(verdict, " (") != len(strings.Fields(c.probe+" "+c.also)) {
				t.Errorf("want a verdict by that alone: %s", verdict)
			}
			cut{}.settled(t, n)
			if left := lasting(before, n.Snapshot()); len(left) > 0 {
				t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
			}
		})
	}
}

// cloud makes the node's firmware say that the node is a machine of a cloud, whatever this
// machine's firmware says, since nspawn shares /sys.
func cloud(ctx context.Context, n *node.Node) {
	n.Shell(ctx, `mkdir -p /run/class
cp -a /sys/class/. /run/class/ 2>/dev/null || true # some cannot be read
rm -rf /run/class/dmi
mkdir -p /run/class/dmi/id
echo 'Amazon EC2' > /run/class/dmi/id/sys_vendor
mount --bind /run/class /sys/class
grep -q EC2 /sys/class/dmi/id/sys_vendor`)
}
