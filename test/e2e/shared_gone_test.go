package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// plainSpec is a network that asks nothing of the host's services. greedySpec is a network whose
// links, routes and addresses each of these services might change.
var (
	plainSpec  = fmt.Sprintf(customSpec, `"type": "ptp"`, "ptp")
	greedySpec = plainSpec + "      sharedHost: {links: [\"eni*\"], routes: true, mac: [\"eni*\"], enis: true}\n"
)

// services has files in place of host services for which a node has no package. It has what the
// agent looks at.
var services = map[string]string{
	"/usr/lib/systemd/system/nm-cloud-setup.service":                      "[Service]\nType=oneshot\nExecStart=/bin/true\n",
	"/usr/lib/systemd/system/nm-cloud-setup.timer":                        "[Timer]\nOnBootSec=1h\n[Install]\nWantedBy=timers.target\n",
	"/usr/lib/systemd/system/cloud-init-hotplugd.socket":                  "[Socket]\nListenFIFO=/run/cloud-init/hook-hotplug-cmd\n",
	"/usr/lib/systemd/system/cloud-init-hotplugd.service":                 "[Service]\nExecStart=/bin/true\n",
	"/usr/lib/udev/rules.d/99-vpc-policy-routes.rules":                    "# amazon-ec2-net-utils\n",
	"/etc/systemd/network/10-host0.network":                               "[Match]\nName=host0\n[Link]\nUnmanaged=yes\n", // NetworkManager's here
	"/etc/systemd/network/50-greedy.network":                              "[Match]\nName=eni*\n[Network]\nAddress=203.0.113.7/24\n",
	"/etc/systemd/system/systemd-networkd-wait-online.service.d/off.conf": "[Service]\nExecStart=\nExecStart=/bin/true\n",
}

// forHosts has the files that the agent writes for these services.
var forHosts = strings.Fields(`/etc/systemd/networkd.conf.d/99-netwright.conf /etc/systemd/network/05-netwright.network /etc/systemd/network/10-netwright.link
	/run/systemd/network/75-netwright-enis.network /etc/NetworkManager/conf.d/zz-netwright.conf /run/NetworkManager/conf.d/99-netwright-enis.conf
	/etc/udev/rules.d/99-vpc-policy-routes.rules /etc/cloud/cloud.cfg.d/99-netwright-hotplug.cfg`)

// When a network goes, the agent removes what it told the host's services about it, and the
// services learn that. They manage such links again, which they left alone before.
func TestSharedHostIsGivenBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := newStore(t, "", nil)
	s.write(t, "nodes/node-1.yaml", goodNode("[10.244.1.0/24]"))
	plugins := s.pluginSpec(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster, greedySpec+plugins))
	o := manager(t, s)
	maps.Copy(o.Files, services)
	o.Enable = append(o.Enable, "systemd-networkd.service", "nm-cloud-setup.timer")
	n := serve(t).Node(t, o)
	until(t, n, "NetworkManager is up", managed)

	// eni makes a link of the network and a link of no network. When NetworkManager has taken the
	// second link, it has looked at both.
	eni := func(name, other string) {
		t.Helper()
		n.Shell(ctx, fmt.Sprintf("ip link add %s type veth peer name %s; ip link set %[1]s up; ip link set %[2]s up", name, other))
		until(t, n, "NetworkManager takes what is nobody's", "ip -o addr show dev "+other+" | grep -q 198.51.100.7")
	}
	drawn := func(name string) bool {
		t.Helper()
		address := "cat /sys/class/net/" + name + "/address"
		before := n.Shell(ctx, address)
		n.Shell(ctx, "udevadm test-builtin net_setup_link /sys/class/net/"+name)
		return n.Shell(ctx, address) != before
	}

	n.Must(ctx, "netwright", "--once")
	for _, path := range forHosts {
		n.Must(ctx, "test", "-e", path)
	}
	if state := n.Run(ctx, "systemctl", "is-enabled", "nm-cloud-setup.timer").Stdout; state != "masked\n" {
		t.Errorf("nm-cloud-setup.timer is %q", state)
	}
	eni("eni0123456789a", "other0")
	until(t, n, "systemd-networkd leaves it", "grep -q ADMIN_STATE=unmanaged /run/systemd/netif/links/$(cat /sys/class/net/eni0123456789a/ifindex)")
	if addr := n.Must(ctx, "ip", "-4", "-o", "addr", "show", "dev", "eni0123456789a"); addr != "" || drawn("eni0123456789a") {
		t.Errorf("a manager or udev changes the network's link: %s", addr)
	}

	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, bridgeSpec+plugins), 0o644)
	said := n.Must(ctx, "netwright", "--once", "--allow-disruptive")
	if left := n.Run(ctx, "grep", append([]string{"-ls", "eni"}, forHosts...)...).Stdout; left != "" {
		t.Errorf("after the switch still there: %s", left)
	}
	// A unit that was there before us stays as the network set it, and the agent says so.
	if !strings.Contains(said, "unit:nm-cloud-setup.timer is no longer wanted and stays") {
		t.Errorf("nothing is said of nm-cloud-setup:\n%s", said)
	}
	until(t, n, "NetworkManager is up", managed)
	eni("eni0123456789b", "other1")
	until(t, n, "NetworkManager takes the link", "nmcli -g GENERAL.STATE device show eni0123456789b | grep -q '^100 '")
	// Only networkd's own file tells: of the two services, the later one removes the other's
	// address from the link.
	until(t, n, "systemd-networkd takes the link", "grep -qx NETWORK_FILE=/etc/systemd/network/50-greedy.network /run/systemd/netif/links/$(cat /sys/class/net/eni0123456789b/ifindex)")
	n.Shell(ctx, "ip link add eni0123456789c type bridge")
	if !drawn("eni0123456789c") {
		t.Error("udev still leaves the link's address")
	}

	before := n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "systemd-networkd")
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, plainSpec+plugins), 0o644)
	n.Must(ctx, "netwright", "--once", "--allow-disruptive")
	if left := n.Run(ctx, "ls", forHosts...).Stdout; left != "" {
		t.Errorf("no network wants them any more: %s", left)
	}
	if n.Must(ctx, "systemctl", "show", "-P", "InvocationID", "systemd-networkd") == before {
		t.Error("systemd-networkd was not restarted, and it reads its settings only then")
	}
	nothingToDo(t, n)
}
