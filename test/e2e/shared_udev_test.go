package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// udev replaces an address that the kernel drew for a link, by systemd's 99-default.link. A link of
// the network keeps its address. Nodes have no udevd, since /sys belongs to this machine, so the
// test runs udev's program for links by itself. The line that keeps it: pkg/model/link_managers.go,
// linkFile (MACAddressPolicy).
func TestUdevLeavesAddresses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster, strings.Replace(bridgeSpec, "bridge: {}", "flannel: {backend: vxlan}", 1)+s.pluginSpec(t)))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	n.Must(ctx, "netwright", "--once")
	n.Shell(ctx, "ip link add flannel.1 type bridge; ip link add other.1 type bridge")
	changed := func(link string) bool {
		t.Helper()
		address := "cat /sys/class/net/" + link + "/address"
		before := n.Shell(ctx, address)
		n.Shell(ctx, "udevadm test-builtin net_setup_link /sys/class/net/"+link)
		return n.Shell(ctx, address) != before
	}
	if !changed("other.1") {
		t.Error("udev leaves the address of any link: the test proves nothing")
	}
	if changed("flannel.1") {
		t.Error("udev gave flannel.1 another address")
	}
	if changed("flannel.1") || changed("other.1") {
		t.Error("udev changed an address again")
	}
}
