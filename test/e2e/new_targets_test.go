package e2e

import (
	"cmp"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// A change's new targets must answer after it, though the agent could not ask them before: the next
// hop of a new default route, and at least one of new name servers. If there was a default route,
// there must be one after the change, and the node must still have the address by which others know
// it. The next hop to another node's pods must answer. In this test the old targets go on
// answering. ip and cat judge.
//
// The lines that keep it: pkg/checkpoint/probe/name_servers.go, newServers and Warnings;
// pkg/checkpoint/probe/run_probes.go, askRoute; pkg/checkpoint/probe/neighbours.go,
// ownAddresses; pkg/checkpoint/probe/next_hops.go, newHops.
func TestWhatAChangeBringsMustAnswer(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serveAll(t)
	const moved = "10.77.0.21"
	command(t, "ip", "-n", strings.TrimPrefix(f.Netns(), "/run/netns/"), "addr", "add", moved+"/24", "dev", "br0")
	s, good := goodStore(t)
	peer := func(address string) string {
		return "bridge: {nodes: [{name: peer, address: " + address + ", podCIDRs: [10.244.7.0/24]}]}"
	}
	good = strings.Replace(good, "bridge: {}", peer(nearAddress), 1)
	s.write(t, "cluster.yaml", good)
	conf := func(window string) string {
		return "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\nprobeWindow: " + window + "\n"
	}
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Files: map[string]string{
		"/etc/netwright/agent.yaml": conf("1m"),
		"/etc/resolv.conf":          "nameserver " + dnsAddress + "\n",
	}}))
	uplink := func(gateway string) string {
		return networkFile("05-uplink.network", "[Match]\nName=host0\n[Network]\nIPv6AcceptRA=no\n"+
			"Address=10.77.0.11/24\nAddress=fd00:77::11/64\nGateway="+node.Gateway6+"\n"+gateway)
	}
	servers := func(addresses ...string) string {
		return "  fileAssets:\n" + assetFile("/etc/resolv.conf", "nameserver "+strings.Join(addresses, "\nnameserver ")+"\n")
	}
	gateway := func() string { return n.Must(ctx, "ip", "-4", "route", "show", "default") }
	n.Shell(ctx, "netwright --once || netwright --once")
	for _, c := range []struct {
		name, files string
		undone      string // by this probe; "": the change stays
		peer        string // the address of a known node; "": nearAddress
		unsure      bool   // the agent does not know whether the change was bad
		warns       string // the text of a warning
		check       func(t *testing.T)
	}{
		{name: "a gateway that nobody has", files: uplink("Gateway=10.77.0.99\n"), undone: "neighbour:host0/10.77.0.99 (", check: func(t *testing.T) {
			if now := gateway(); !strings.Contains(now, "via "+node.Gateway4+" ") || strings.Contains(now, "10.77.0.99") {
				t.Errorf("after the undo: %s", now)
			}
		}},
		{name: "no gateway any more", files: uplink(""), undone: "route:0.0.0.0/0 (", check: func(t *testing.T) {
			if now := gateway(); !strings.Contains(now, "via "+node.Gateway4+" ") {
				t.Errorf("after the undo: %s", now)
			}
		}},
		{name: "another address of the node", undone: "address:10.77.0.11 (", check: func(t *testing.T) {
			if now := n.Must(ctx, "ip", "-4", "address", "show", "dev", "host0"); !strings.Contains(now, "10.77.0.11/24") || strings.Contains(now, "10.77.0.12") {
				t.Errorf("after the undo: %s", now)
			}
		}, files: strings.Replace(uplink("Gateway="+node.Gateway4+"\n"), "10.77.0.11/24", "10.77.0.12/24", 1)},
		{name: "another gateway that answers", files: uplink("Gateway=" + nearAddress + "\n"), check: func(t *testing.T) {
			if now := gateway(); !strings.Contains(now, "via "+nearAddress+" ") {
				t.Errorf("after the change: %s", now)
			}
		}},
		{name: "a name server that nobody has", files: servers("192.0.2.53"), undone: "dns:192.0.2.53 (", check: func(t *testing.T) {
			if now := n.Read("/etc/resolv.conf"); now != "nameserver "+dnsAddress+"\n" {
				t.Errorf("after the undo: %s", now)
			}
		}},
		{name: "a dead name server beside one that answers", files: servers("192.0.2.53", dnsAddress), warns: "name server 192.0.2.53 does not answer", check: func(t *testing.T) {
			if now := n.Read("/etc/resolv.conf"); !strings.Contains(now, "192.0.2.53") {
				t.Errorf("after the change: %s", now)
			}
		}},
		{name: "a known node's address that nobody has", peer: "10.77.0.99", undone: "next-hop:host0/10.77.0.99 (", unsure: true, check: func(t *testing.T) {
			if now := n.Must(ctx, "ip", "route", "show", "10.244.7.0/24"); !strings.Contains(now, "via "+nearAddress+" ") {
				t.Errorf("after the undo: %s", now)
			}
		}},
		{name: "a known node's address that answers", peer: moved, check: func(t *testing.T) {
			if now := n.Must(ctx, "ip", "route", "show", "10.244.7.0/24"); !strings.Contains(now, "via "+moved+" ") {
				t.Errorf("after the change: %s", now)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			document := strings.Replace(good, "  networking:", c.files+"  networking:", 1)
			n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(document, peer(nearAddress), peer(cmp.Or(c.peer, nearAddress)), 1), 0o644)
			converges := func(window string) (res node.Result, verdict string) {
				n.Write("/etc/netwright/agent.yaml", conf(window), 0o644)
				res = n.Run(ctx, "netwright", "--once", "-o", "json")
				return res, n.Shell(ctx, "cat /var/lib/netwright/checkpoint/verdict.json || true")
			}
			if c.undone == "" {
				if res, _ := converges("1m"); res.Code != 0 || !strings.Contains(res.Stdout, c.warns) {
					t.Errorf("exit %d, want a warning of %q\n%s%s", res.Code, c.warns, res.Stdout, res.Stderr)
				}
			} else {
				res, verdict := converges("9s") // the agent believes networkd after a third of it
				// On a busy machine networkd, or a server, may not answer in time.
				if strings.Contains(verdict, "managed:") || c.unsure && strings.Contains(verdict, `"bad":true`) {
					n.Must(ctx, "rm", "/var/lib/netwright/checkpoint/verdict.json")
					res, verdict = converges("45s")
				}
				if res.Code != 1 || strings.Contains(verdict, `"bad":true`) == c.unsure || !strings.Contains(verdict, c.undone) {
					t.Errorf("exit %d, the verdict is %s, want one by %s\n%s%s", res.Code, verdict, c.undone, res.Stdout, res.Stderr)
				}
			}
			c.check(t)
			n.Write("/srv/netwright/"+cluster+"/cluster.yaml", good, 0o644)
			n.Write("/etc/netwright/agent.yaml", conf("1m"), 0o644)
			n.Shell(ctx, "netwright --once || netwright --once")
		})
	}
}
