package cleanup

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
)

// change is a change of mode within a network. It has the documents before and after, what both
// modes have on a node, what the former mode leaves, and what shows the new mode.
type change struct {
	before, after     string
	both, left, there string
	// says is added to the documents where nothing on the node shows the new mode.
	says string
}

var changes = []change{
	{before: "flannel: {backend: vxlan}\n", after: "flannel: {backend: host-gw}\n",
		both: "link cni0 type bridge; ip link set cni0 up; chain nat FLANNEL-POSTRTG; ip route add blackhole 10.244.0.0/16 proto boot",
		left: "link flannel.1 type vxlan id 1 dstport 8472 dev host0; ip link set flannel.1 up\n" +
			"ip route add 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink",
		there: "ip route add 10.244.3.0/24 via 10.77.0.1"},
	{before: "flannel: {backend: host-gw}\n", after: "flannel: {backend: vxlan}\n",
		both: "ip route del 10.244.3.0/24", // left by the case before
		left: "ip route add 10.244.4.0/24 via 10.77.0.1",
		there: "link flannel.1 type vxlan id 1 dstport 8472 dev host0; ip link set flannel.1 up\n" +
			"ip route add 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink"},
	{before: "calico: {encapsulationMode: vxlan, nftablesMode: Disabled}\n", after: "calico: {encapsulationMode: vxlan, nftablesMode: Enabled}\n",
		both: "link vxlan.calico type vxlan id 4096 dstport 4789 dev host0; ip link set vxlan.calico up; ip route add 10.244.3.0/26 via 10.77.0.1 proto 80",
		left: `for t in raw mangle nat filter; do chain $t cali-PREROUTING; chain6 $t cali-PREROUTING; within $t cali-PREROUTING -m comment --comment cali:aaaa -j RETURN
			rule $t OUTPUT -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING; rule6 $t OUTPUT -m comment --comment "cali:6gwbT8clXdHdC1b1" -j cali-PREROUTING; done
			rule filter FORWARD -m comment --comment "cali:S93hcgKJrXEqnTfs" -m comment --comment "Policy explicitly accepted packet." -m mark --mark 0x10000/0x10000 -j ACCEPT
			set_ cali40all-ipam-pools hash:net; set_ cali60masq-ipam hash:net "family inet6"`,
		there: "nft add table ip calico; nft add table ip6 calico"},
	{before: "calico: {encapsulationMode: vxlan, nftablesMode: Enabled}\n", after: "calico: {encapsulationMode: vxlan, nftablesMode: Disabled}\n",
		left: "table arp calico-arp", there: "nft delete table ip calico; nft delete table ip6 calico; iptables-nft -N cali-FORWARD"},
	{before: "cilium: {tunnel: vxlan}\n", after: "cilium: {tunnel: disabled}\n",
		both: "pair cilium_host cilium_net; ip route add 10.244.3.0/24 via 10.77.0.1 proto kernel",
		left: "link cilium_vxlan type vxlan external dstport 8472", says: "    switch: {allow: true}\n"},
}

// After a change of mode within a network the released agent removes what the former mode left. It
// does so when the new mode's state is there, or when documents say so, on one node among things of
// other owners. What both modes have stays.
func TestChangesOfModeLeaveNothing(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	n := newSwitchNode(t, node.NewFabric(t))
	for _, c := range changes {
		name, _, _ := strings.Cut(c.before, ":")
		t.Run(strings.TrimSpace(c.before)+" to "+strings.TrimSpace(c.after), func(t *testing.T) {
			n.t = t
			n.wants("", "", c.before+"    switch: {allow: true}\n")
			n.once()
			n.shell("make_ '" + c.both + "'")
			if lost := n.shell("makes_left '" + c.left + "'"); lost != "" {
				t.Fatalf("what it leaves took away:\n%s", lost)
			}
			n.once() // it belongs to the network as long as the documents want that mode

			n.wants("", "", c.after)
			n.once()
			if step := n.cleans(name); step.State != report.Waits || !strings.Contains(step.Message, "in force") {
				t.Errorf("before the other mode is there the plan says %+v", step)
			}
			n.shell("make_ '" + c.there + "'")
			if gone := n.shell("stands"); gone != "" {
				t.Errorf("before the other mode was there this went:\n%s", gone)
			}
			n.wants("", "", c.after+c.says)
			if step := n.cleans(name); step.State != report.Planned || len(step.Items) == 0 {
				t.Errorf("with the other mode there the plan says %+v", step)
			}
			n.once()
			if diff := n.shell("went"); diff != "" {
				t.Errorf("the node is not as it was without what the former mode left:\n%s", diff)
			}
			if p := n.plan(); p.Switch != nil || p.Summary.Changes() != 0 || n.cleans(name).Key != "" {
				t.Errorf("after it the plan says %+v, %+v", p.Summary, n.cleans(name))
			}
			n.carries("after " + c.after)
		})
	}
}

// cleans returns the step of a plan that removes what a mode of the network left. It is empty if
// there is nothing to remove.
func (n *switchNode) cleans(network string) (out report.Step) {
	n.t.Helper()
	for _, s := range n.plan().Steps {
		if strings.HasPrefix(s.Key, "cleanup:"+network+" (") {
			out = s
		}
	}
	return out
}
