package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// calicoSpec is a network whose DaemonSet itself sets links, routes and rules.
const calicoSpec = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
  networking:
    calico: {}
`

// cniState makes what networks make: links of pods, routes with and without a protocol of their
// own, tables, rules, a tunnel, a bridge.
const cniState = `
for pod in 5 6; do
	ip netns add pod$pod
	ip link add cali0123456789$pod type veth peer name eth0 netns pod$pod
	ip link set cali0123456789$pod up
	ip route add 10.244.1.$pod dev cali0123456789$pod scope link
	sysctl -qw net.ipv4.conf.cali0123456789$pod.proxy_arp=1
	ip -n pod$pod link set eth0 up
	ip -n pod$pod addr add 10.244.1.$pod/32 dev eth0
	ip -n pod$pod route add default dev eth0
done
ip route add 10.244.2.0/24 via 10.77.0.12 dev host0 proto 80 onlink
ip route add 10.244.3.0/24 via 10.77.0.12 dev host0 proto 17 onlink
ip route add 10.244.4.0/24 via 10.77.0.12 dev host0 proto bird onlink
ip route add 10.244.5.0/24 via 10.77.0.12 dev host0 onlink
ip -6 route add fd00:10:244:2::/64 via fd00:77::12 dev host0 proto 80
ip route add default via 10.77.0.1 dev host0 table 2
ip route add 10.244.9.0/24 via 10.77.0.12 dev host0 table 77 proto 17 onlink
ip rule add priority 512 to 10.244.1.5 lookup main
ip rule add priority 1024 fwmark 0x80/0x80 lookup main
ip rule add priority 1536 from 10.244.1.9 lookup 2
ip -6 rule add priority 1536 from fd00:10:244:1::5 lookup 2
ip link add vxlan.calico type vxlan id 4096 dstport 4789 dev host0 nolearning
ip addr add 10.244.1.0/32 dev vxlan.calico
ip link set vxlan.calico up
ip link add cbr0 type bridge
ip addr add 10.244.7.1/24 dev cbr0
ip link set cbr0 up
sysctl -qw net.ipv4.ip_forward=1
`

// noneTentative is true when the kernel no longer checks any address for a duplicate.
const noneTentative = "! ip -6 addr | grep -q tentative"

// netState prints the state of the network, as ip lists it.
const netState = `
for family in -4 -6; do ip $family route show table all | grep -v 'expires\|multicast' | sort; ip $family rule; done
ip -o addr | sed 's/ *valid_lft.*//; s/^[0-9]*: //' | sort
ip -o link | sed 's/qlen.*link/link/' | sort
`

// settledNetworkd runs a command after which systemd-networkd sets host0 up, and waits until
// networkd has done so.
func settledNetworkd(t *testing.T, n *node.Node, act string) {
	t.Helper()
	const file = "/run/systemd/netif/links/$(cat /sys/class/net/host0/ifindex)"
	old := strings.TrimSpace(n.Shell(t.Context(), "stat -c %i "+file))
	n.Shell(t.Context(), act)
	until(t, n, "host0 is configured after "+act, "test $(stat -c %i "+file+") != "+old+" && grep -q ADMIN_STATE=configured "+file)
}

// anew has systemd-networkd set host0 up by a changed file, as cloud-init or a netplan apply does.
const anew = "echo '# another' >>/etc/systemd/network/10-host0.network && networkctl reload"

// keep makes networkd keep host0's address all the time. Otherwise networkd removes it for a
// moment. With the last IPv4 address of a link, the kernel removes all IPv4 routes over that link,
// whoever made them, and no file of ours can prevent that.
const keep = "[Network]\nKeepConfiguration=static\n"

// greedy is another program's file that also matches links of pods.
const greedy = "[Match]\nName=c* vxlan*\n[Network]\nAddress=198.51.100.7/24\n"

// When systemd-networkd sets host0 up anew on a node without the agent, it removes what networks
// made. On a node with the agent it removes nothing: neither then, nor in a restart, in which
// releases before 252 remove it too, nor in the restart that the agent requests on a node that has
// pods already. The line that keeps it: pkg/model/link_managers.go, unmanageNetworkd
// (ManageForeignRoutes).
func TestNetworkdLeavesWhatNetworksMade(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, calicoSpec, nil)
	f := node.NewFabric(t)

	files := map[string]string{"/etc/systemd/network/10-host0.network.d/keep.conf": keep}
	n := f.Node(t, node.Options{Name: "without", Address: "10.77.0.13", Networkd: true, Files: files})
	n.Shell(ctx, cniState)
	settledNetworkd(t, n, anew)
	after := n.Shell(ctx, netState)
	for _, gone := range []string{"proto 80", "10.244.4.0/24", "10.244.5.0/24", "table 77", "1536:\tfrom 10.244.1.9", "fd00:10:244:2::/64", "1536:\tfrom fd00:10:244:1::5"} {
		if strings.Contains(after, gone) {
			t.Errorf("%q survives without the agent: the test proves nothing of it", gone)
		}
	}

	n.Write("/etc/systemd/network/50-greedy.network", greedy, 0o644)
	n.Must(ctx, "networkctl", "reload")
	until(t, n, "systemd-networkd takes a pod's link without the agent", "ip -o addr show dev cali01234567895 | grep -q 198.51.100.7")

	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	n = f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Files: files}))
	n.Shell(ctx, cniState)
	until(t, n, "each link has its own IPv6 address", noneTentative)
	before := n.Shell(ctx, netState)
	survives := func(what string) {
		t.Helper()
		if after := n.Shell(ctx, netState); after != before {
			t.Errorf("%s changed the network from\n%s\nto\n%s", what, before, after)
		}
	}
	settledNetworkd(t, n, "netwright --once")
	survives("the first pass of the agent")
	settledNetworkd(t, n, "systemctl restart systemd-networkd")
	survives("a restart of systemd-networkd")
	settledNetworkd(t, n, anew)
	survives("another .network file")
	if log := n.Shell(ctx, "journalctl -b -o cat -u systemd-networkd"); strings.Contains(log, "netwright") {
		t.Errorf("systemd-networkd finds fault with a file of ours:\n%s", log)
	}
	n.Shell(ctx, "ip link del cbr0") // not a link of calico's; greedy matches it
	before = n.Shell(ctx, netState)
	n.Write("/etc/systemd/network/50-greedy.network", greedy, 0o644)
	settledNetworkd(t, n, anew)
	survives("a file that matches pods' links")
	nothingToDo(t, n)
}

// manager returns options of a node whose network NetworkManager manages. It has a profile for any
// link of Ethernet, as images for many machines have.
func manager(t *testing.T, s store) node.Options {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"host0": "[connection]\nid=host0\ntype=ethernet\ninterface-name=host0\n[ipv4]\nmethod=manual\naddress1=10.77.0.11/24,10.77.0.1\n[ipv6]\nmethod=manual\naddress1=fd00:77::11/64,fd00:77::1\naddr-gen-mode=eui64\n",
		"any":   "[connection]\nid=any\ntype=ethernet\nautoconnect-priority=-100\nmulti-connect=3\n[ipv4]\nmethod=manual\naddress1=198.51.100.7/24\n[ipv6]\nmethod=disabled\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".nmconnection"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return options(t, s, "node-1", "10.77.0.11", node.Options{
		Layers: []string{node.Layer(t, "network-manager", "firewalld")},
		Mask:   []string{"firewalld.service"},
		Copies: map[string]string{"/etc/NetworkManager/system-connections": dir},
		Files: map[string]string{
			"/etc/systemd/system/lab-network.service.d/off.conf": "[Unit]\nConditionPathExists=!/etc/lab-network\n",
			"/etc/netwright/agent.yaml":                          agentFile("1m"), // for the boot; each test sets its probes
			// A list of a person: neither list replaces the other.
			"/etc/NetworkManager/conf.d/person.conf": "[keyfile]\nunmanaged-devices=interface-name:person0\n",
		},
	})
}
