package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

func calicoStore(t *testing.T) store {
	s := newStore(t, calicoSpec, nil)
	s.write(t, "nodes/node-1.yaml", goodNode("[10.244.1.0/24]"))
	return s
}

// managed is true when NetworkManager has finished its start and has set up host0.
const managed = `nm-online -s -q && nmcli -g GENERAL.STATE device show host0 | grep -q '^100'`

// On a node without the agent's file NetworkManager takes a pod's link. With the file it leaves the
// link alone: when the link appears, and in its reload and its restart. The line that keeps it:
// pkg/model/link_managers.go, nmUnmanaged.
func TestNetworkManagerLeavesLinks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := serve(t).Node(t, manager(t, calicoStore(t)))
	until(t, n, "NetworkManager is up", managed)

	n.Shell(ctx, "ip link add cali0 type veth peer name pod0 && ip link set cali0 up && ip link set pod0 up")
	until(t, n, "NetworkManager takes a pod's link without the agent", "ip -o addr show dev cali0 | grep -q 198.51.100.7")

	n.Must(ctx, "netwright", "--once")
	until(t, n, "NetworkManager lets go of the pod's link", "nmcli -g GENERAL.STATE device show cali0 | grep -q '^10 '")
	n.Shell(ctx, "ip link del cali0")
	until(t, n, "NetworkManager is up", managed)
	n.Shell(ctx, cniState)
	n.Shell(ctx, "ip link add person0 type veth peer name person1; ip link set person0 up; ip link set person1 up")
	until(t, n, "NetworkManager has seen all links, and takes what is nobody's", "ip -o addr show dev person1 | grep -q 198.51.100.7")
	until(t, n, "each link has its own IPv6 address", noneTentative)
	before := n.Shell(ctx, netState)
	for _, act := range []string{"systemctl reload NetworkManager", "nmcli general reload", "systemctl restart NetworkManager"} {
		n.Shell(ctx, act)
		until(t, n, "NetworkManager is up after "+act, managed)
		until(t, n, "it has looked at all links", "nmcli -g GENERAL.STATE device show person1 | grep -q '^100'")
		if after := n.Shell(ctx, netState); after != before {
			t.Errorf("%s changed the network from\n%s\nto\n%s", act, before, after)
		}
		for _, link := range []string{"cali01234567895", "cali01234567896", "vxlan.calico", "person0"} {
			if got := n.Must(ctx, "nmcli", "-g", "GENERAL.STATE", "device", "show", link); !strings.HasPrefix(got, "10 ") {
				t.Errorf("after %s %s is %s, want unmanaged", act, link, got)
			}
		}
	}
	nothingToDo(t, n)
}

// A file of the documents tells NetworkManager to give up the node's own link. The probes fail and
// the agent removes the file. NetworkManager reloads and sets the link up again.
func TestNetworkManagerIsTakenBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := calicoStore(t)
	n := serve(t).Node(t, manager(t, s))
	until(t, n, "NetworkManager is up", managed)
	n.Must(ctx, "netwright", "--once")
	until(t, n, "NetworkManager is up", managed)
	until(t, n, "each link has its own IPv6 address", noneTentative)
	before := n.Shell(ctx, netState)

	n.Write("/etc/netwright/agent.yaml", agentFile("3s"), 0o644)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, calicoSpec+
		"  fileAssets:\n  - name: off\n    path: /etc/NetworkManager/conf.d/zzz-off.conf\n    content: |\n      [keyfile]\n      unmanaged-devices+=interface-name:host0\n"), 0o644)
	res := n.Run(ctx, "netwright", "--once", "-o", "json")
	if said := res.Stdout + res.Stderr; res.Code != 1 || !strings.Contains(said, "is bad: probe") {
		t.Errorf("exit %d: %s", res.Code, said)
	}
	until(t, n, "host0 is NetworkManager's again", managed)
	if got := n.Shell(ctx, "ls /etc/NetworkManager/conf.d"); strings.Contains(got, "zzz-off.conf") {
		t.Errorf("the file is still there: %s", got)
	}
	until(t, n, "each link has its own IPv6 address", noneTentative)
	if after := n.Shell(ctx, netState); after != before {
		t.Errorf("the network was\n%s\nand is\n%s", before, after)
	}
}

// firewalld rejects packets between pods, also those to pods of other nodes. The plan says so, with
// commands. After these commands firewalld accepts the packets, also after a reload. A ban that a
// person adds stays in force. The lines that keep it: pkg/model/host_warnings.go, podRanges and
// trustPods.
func TestFirewalldAdvice(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, calicoStore(t), "node-1", "10.77.0.11", node.Options{
		Layers: []string{node.Layer(t, "network-manager", "firewalld")}, Mask: []string{"NetworkManager.service"},
	}))
	until(t, n, "firewalld, which is on the bus before its rules are there, answers", "firewall-cmd --state")
	n.Shell(ctx, cniState)
	const ping = "ip netns exec pod5 ping -c1 -W2 10.244.1.6"
	n.Shell(ctx, `ip netns add far
ip link add far0 type veth peer name eth0 netns far
ip link set far0 up
sysctl -qw net.ipv4.conf.far0.proxy_arp=1
ip route add 10.244.2.9 dev far0
ip -n far link set eth0 up
ip -n far addr add 10.244.2.9/32 dev eth0
ip -n far route add default dev eth0`)
	const pingFromFar = "ip netns exec far ping -c1 -W2 10.244.1.6"
	if n.Run(ctx, "sh", "-c", ping).Code == 0 || n.Run(ctx, "sh", "-c", pingFromFar).Code == 0 {
		t.Error("pods reach each other through firewalld: the test proves nothing")
	}
	var advice string
	for _, note := range plan(ctx, t, n, 2).Notes {
		if strings.Contains(note.Text, "firewalld") {
			advice = note.Text
		}
	}
	_, command, _ := strings.Cut(advice, "`")
	command, _, _ = strings.Cut(command, "`")
	if command == "" {
		t.Fatalf("nothing is said of firewalld: %q", advice)
	}
	const ban = "rule family=ipv4 source address=198.51.100.9 reject"
	n.Must(ctx, "firewall-cmd", "--add-rich-rule="+ban) // until the next reload, as fail2ban bans
	n.Shell(ctx, command)
	n.Shell(ctx, ping)
	n.Shell(ctx, pingFromFar)
	n.Must(ctx, "firewall-cmd", "--query-rich-rule="+ban)
	n.Must(ctx, "firewall-cmd", "--reload")
	n.Shell(ctx, ping)
	n.Shell(ctx, pingFromFar)

	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, calicoSpec+"  hooks:\n  - {name: firewalld.service, enabled: false, manifest: \"\"}\n"), 0o644)
	n.Must(ctx, "netwright", "--once")
	until(t, n, "firewalld is off", "test $(systemctl is-active firewalld) = inactive")
	n.Shell(ctx, ping)
	p := plan(ctx, t, n, 0)
	if text := notes(p); strings.Contains(text, "firewalld") {
		t.Errorf("the plan warns of a firewalld that is stopped: %s", text)
	}
}

func notes(p report.Plan) (text string) {
	for _, note := range p.Notes {
		text += note.Text + "\n"
	}
	return text
}

// Both link managers take any link, unless a file tells them to leave it alone. They leave the
// links of a proof alone, and the proof's files for them are removed. The line that keeps it:
// pkg/host/unmanage_links.go, unmanageLink.
func TestLinkManagersLeaveAProofAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, bridgeSpec, nil)
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)))
	s.write(t, "nodes/node-1.yaml", goodNode("[10.244.1.0/24]"))
	o := manager(t, s)
	o.Files["/etc/systemd/network/10-host0.network"] = services["/etc/systemd/network/10-host0.network"]
	o.Files["/etc/systemd/network/90-any.network"] = "[Match]\nType=ether\n[Network]\nAddress=203.0.113.7/24\n"
	o.Files["/etc/systemd/system/systemd-networkd-wait-online.service.d/off.conf"] = services["/etc/systemd/system/systemd-networkd-wait-online.service.d/off.conf"]
	o.Enable = append(o.Enable, "systemd-networkd.service")
	n := serve(t).Node(t, o)
	until(t, n, "NetworkManager is up", managed)
	n.Must(ctx, "netwright", "--once")
	until(t, n, "NetworkManager is up", managed)
	n.Shell(ctx, "ip link add nwverify9 type veth peer name nwpeer9; ip link set nwverify9 up; ip link set nwpeer9 up")
	until(t, n, "they take what they are not told of", "ip -o addr show dev nwverify9 | grep -q '198.51.100.7\\|203.0.113.7'")
	for range 3 {
		if res := n.Run(ctx, "netwright", "verify", "--traffic"); res.Code != 0 {
			t.Errorf("exit %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
	}
	if left := n.Shell(ctx, "find /run/systemd/network /run/NetworkManager/conf.d -name '*nwverify0*'"); left != "" {
		t.Errorf("the proof left %s", left)
	}
}
