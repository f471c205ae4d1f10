package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// calicoSpec is a network whose DaemonSet sets links, routes and rules by itself.
const calicoSpec = `  kubernetesVersion: 1.36.0
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 10.0.0.0/8
  networking:
    calico: {}
`

// cniState makes what networks make: pods' links, routes of their own protocols and of none,
// tables, rules, a tunnel, a bridge.
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

// noneTentative says that no address waits for its duplicate any more.
const noneTentative = "! ip -6 addr | grep -q tentative"

// netState is how that is now, as ip says it.
const netState = `
for family in -4 -6; do ip $family route show table all | grep -v 'expires\|multicast' | sort; ip $family rule; done
ip -o addr | sed 's/ *valid_lft.*//; s/^[0-9]*: //' | sort
ip -o link | sed 's/qlen.*link/link/' | sort
`

// settledNetworkd does something after which systemd-networkd sets host0 up, and waits until it
// has.
func settledNetworkd(t *testing.T, n *node.Node, act string) {
	t.Helper()
	const file = "/run/systemd/netif/links/$(cat /sys/class/net/host0/ifindex)"
	old := strings.TrimSpace(n.Shell(t.Context(), "stat -c %i "+file))
	n.Shell(t.Context(), act)
	until(t, n, "host0 is configured after "+act, "test $(stat -c %i "+file+") != "+old+" && grep -q ADMIN_STATE=configured "+file)
}

// anew has systemd-networkd set host0 up by another file, as cloud-init or a netplan apply does.
const anew = "echo '# another' >>/etc/systemd/network/10-host0.network && networkctl reload"

// keep lets host0 have its address throughout. Else networkd takes it away for a moment, and the
// kernel with a link's last IPv4 address all IPv4 routes over it, whoever made them: nothing that
// we could write prevents that.
const keep = "[Network]\nKeepConfiguration=static\n"

// greedy is a file of somebody's that matches pods' links too.
const greedy = "[Match]\nName=c* vxlan*\n[Network]\nAddress=198.51.100.7/24\n"

// When systemd-networkd sets host0 up anew it takes away what networks made on a node without the
// agent. On a node with it that stays: then, over a restart (at which releases before 252 do the
// same), and over that which the agent asks for on a node that has pods already. The line that
// keeps it: pkg/model/link_managers.go, unmanageNetworkd (ManageForeignRoutes).
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
	n.Shell(ctx, "ip link del cbr0") // it is none of calico's, and greedy's
	before = n.Shell(ctx, netState)
	n.Write("/etc/systemd/network/50-greedy.network", greedy, 0o644)
	settledNetworkd(t, n, anew)
	survives("a file that matches pods' links")
	nothingToDo(t, n)
}

// manager is a node whose network is NetworkManager's, with a profile for whatever looks like
// Ethernet, as images for many machines have.
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
			"/etc/netwright/agent.yaml":                          agentFile("1m"), // for the boot; what probes there are is each test's
			// A person's own list: neither takes the other's place.
			"/etc/NetworkManager/conf.d/person.conf": "[keyfile]\nunmanaged-devices=interface-name:person0\n",
		},
	})
}
