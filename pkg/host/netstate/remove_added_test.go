package netstate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// An undo removes no link that is a device of the machine, nor lo. The line that keeps it:
// remove_added.go, sortLinks.
func TestNoDeviceIsAnAddedLink(t *testing.T) {
	now := State{Links: []rtnl.Link{{Name: "eth1", Index: 2, Physical: true}, {Name: "lo", Index: 1, Loopback: true},
		{Name: "d0", Index: 3, Kind: "dummy"}}}
	if added := (State{}).sortLinks(now, map[int]bool{}, map[int]bool{}); !slices.Equal(added, []string{"d0"}) {
		t.Errorf("added: %q", added)
	}
}

// An undo removes what a program added to the network. What pods, routing daemons and leases
// brought stays. The lines that keep it: remove_added.go, addedSince and what it asks.
func TestRemoveCame(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add up0 type veth peer name x0; ip link add node0 type bridge; ip link add cali1 type veth peer name cali2
for l in up0 x0 node0 cali1 cali2; do ip link set $l up; done
ip addr add 10.0.0.2/24 dev node0; ip addr add 10.7.0.2/24 dev up0; ip route add default via 10.0.0.1; ip -6 addr add 2001:db8::2/64 dev node0 nodad`)
	read := func() (out []string) {
		text := ns.Run("sh", "-c", `ip -o link | cut -d: -f2; ip -o addr show scope global | sed 's/valid_lft.*//; s/\\.*//'; ip route show table all; ip -6 route show table all; ip rule; ip -6 rule`)
		for line := range strings.Lines(text) {
			if !strings.Contains(line, "fe80") && !strings.Contains(line, "ff00") && !strings.Contains(line, "anycast") {
				out = append(out, strings.Join(strings.Fields(strings.ReplaceAll(line, "linkdown", "")), " "))
			}
		}
		return out
	}
	look := func() []string { // the kernel makes some routes of an address a moment later
		for was := read(); ; {
			time.Sleep(50 * time.Millisecond)
			is := read()
			if slices.Equal(is, was) {
				return is
			}
			was = is
		}
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		before := look()
		was, err := Read(ctx, h.net, "weft*")
		ok(t, err)
		theirs := `ip link add cali3 type veth peer name cali4; ip link set cali3 up; ip link set cali4 up; ip link add kube-ipvs0 type bridge
for l in weft0 wg-v6.cali bwcali1 eth0.vxlan4 tun-0123456789a br-0123456789ab genev_sys_6081; do ip link add $l type bridge; done; ip link add vxlan-v6.calico type vxlan id 4096 dstport 4790 dev node0
ip addr add 10.96.0.1/32 dev kube-ipvs0; ip route add 10.244.1.5/32 dev cali3; ip route add 10.244.2.0/24 via 10.0.0.9 proto bird; ip rule add from 10.244.1.5 lookup 7 pref 1536
ip addr add 10.0.0.7/24 dev node0 valid_lft 600 preferred_lft 600; ip route add blackhole 10.244.3.0/26 proto 80`
		ns.Run("sh", "-ec", theirs)
		with := look()
		ns.Run("sh", "-ec", `ip link add br9 type bridge; ip link set br9 up; ip addr add 10.0.0.1/24 dev br9; ip addr add 10.0.0.1/32 dev lo; ip -6 addr add 2001:db8::1/64 dev node0
ip route add default via 10.0.0.66 dev node0 metric 1 proto static onlink; ip route add blackhole 10.0.0.0/16; ip route add 10.0.0.1/32 dev node0 metric 5; ip -6 route add unreachable 2001:db8:1::/48; ip rule add pref 1 blackhole; ip -6 rule add pref 1 to 2001:db8::/32 prohibit
ip rule add to 10.0.0.1 lookup 9 pref 3; ip route add 10.7.0.1/32 dev up0; ip rule add to 10.7.0.1 blackhole pref 2; ip addr add 10.7.0.1/32 dev up0`)
		for range 2 {
			ok(t, h.RemoveAdded(ctx, was))
			if diff := cmp.Diff(with, look()); diff != "" {
				t.Errorf("not as before with what others made (-before +after):\n%s", diff)
			}
		}
		ns.Run("sh", "-ec", "for l in cali3 kube-ipvs0 weft0 wg-v6.cali bwcali1 vxlan-v6.calico eth0.vxlan4 tun-0123456789a br-0123456789ab genev_sys_6081; do ip link del $l; done; ip route del 10.244.2.0/24; ip rule del pref 1536; ip addr del 10.0.0.7/24 dev node0; ip route del blackhole 10.244.3.0/26")
		if diff := cmp.Diff(before, look()); diff != "" {
			t.Errorf("without what others made (-before +after):\n%s", diff)
		}
		ns.Run("ip", "link", "del", "node0")
		lost, err := h.Lost(ctx, was)
		ok(t, err)
		if !cmp.Equal(lost, []string{"link node0"}) {
			t.Errorf("lost: %v", lost)
		}
	})
}
