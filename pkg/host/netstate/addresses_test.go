package netstate

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// A link of Kubernetes lost an address, and an undo restores it. The addresses of its services
// stay: their order has no meaning. The line that keeps it: addresses.go, hasWriters.
func TestRestoreLeavesAddressesOfServices(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add kube-ipvs0 type bridge; for n in 1 2 3; do ip addr add 10.96.0.$n/32 dev kube-ipvs0; done`)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("ip", "addr", "del", "10.96.0.1/32", "dev", "kube-ipvs0")
		ok(t, h.Restore(ctx, was, Made{}))
		now, err := h.net.Addresses(ctx, "kube-ipvs0")
		ok(t, err)
		var list []string
		for _, a := range now {
			list = append(list, a.Prefix.Addr().String())
		}
		if diff := cmp.Diff([]string{"10.96.0.2", "10.96.0.3", "10.96.0.1"}, list); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// An undo removes an address that the change made, and no other one: not on another link, and not
// with another length. The line that keeps it: addresses.go, isAddress.
func TestRestoreRemovesTheAddressesThatTheChangeMade(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", "for l in a0 b0; do ip link add $l type bridge; ip link set $l up; done")
	look := func() []string {
		return lines(ns.Run("sh", "-ec", "ip -br addr show a0; ip -br addr show b0"))
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("sh", "-ec", "ip addr add 10.0.0.1/25 dev a0; ip addr add 10.0.0.1/24 dev b0; ip addr add 10.0.0.2/24 dev b0; ip -6 addr add 2001:db8::2/64 dev b0 nodad")
		want := look()
		ns.Run("sh", "-ec", "ip addr add 10.0.0.1/24 dev a0; ip -6 addr add 2001:db8::1/64 dev a0 nodad")
		made := Made{Addresses: []rtnl.LinkAddress{{Link: "a0", Prefix: netip.MustParsePrefix("10.0.0.1/24")},
			{Link: "a0", Prefix: netip.MustParsePrefix("2001:db8::1/64")}}}
		for range 2 {
			ok(t, h.Restore(ctx, was, made))
			if diff := cmp.Diff(want, look()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}

// After an undo the node sends from the same address as before. The first address of its network is
// the first again, also if the kernel made another one the first meanwhile, or removed the others
// with it. Addresses that others added stay, behind the first. The lines that keep it:
// addresses.go, inOrder, besides, and that those of IPv6 are brought back the last first.
func TestRestoreKeepsTheOrderOfAddresses(t *testing.T) {
	for _, promote := range []int{0, 1} {
		t.Run(fmt.Sprintf("promote_secondaries=%d", promote), func(t *testing.T) {
			ns := netns.New(t)
			ns.Run("sh", "-ec", fmt.Sprintf(`ip link add up0 type veth peer name up1; ip link set up1 up; ip link set up0 up
echo %d > /proc/sys/net/ipv4/conf/all/promote_secondaries; echo %d > /proc/sys/net/ipv4/conf/up0/promote_secondaries
ip addr add 10.0.0.2/24 dev up0; ip addr add 10.0.1.2/24 dev up0; ip addr add 10.0.0.3/24 dev up0 label up0:1 metric 7
ip route add default via 10.0.0.1; ip route add 10.9.0.0/24 via 10.0.0.7 src 10.0.0.3
for n in 2 3 4; do ip -6 addr add 2001:db8::$n/64 dev up0 nodad; done`, promote, promote))
			look := func() (out []string) {
				shown := ns.Run("sh", "-ec", `ip -4 -o addr show up0; ip -6 -o addr show up0 scope global; ip route; ip route get 10.0.0.77`)
				for line := range strings.Lines(shown) {
					line, _, _ = strings.Cut(strings.Join(strings.Fields(line), " "), `\`)
					out = append(out, line)
				}
				return out
			}
			ns.Do(func() {
				h, ctx := openNet(t), t.Context()
				before := look()
				was, err := Read(ctx, h.net)
				ok(t, err)
				ns.Run("sh", "-ec", `ip addr del 10.0.0.2/24 dev up0; ip -6 addr flush dev up0 scope global`)
				for range 2 {
					ok(t, h.Restore(ctx, was, Made{}))
					if diff := cmp.Diff(before, look()); diff != "" {
						t.Errorf("not as before (-before +after):\n%s", diff)
					}
				}

				ns.Run("sh", "-ec", `ip addr del 10.0.0.3/24 dev up0; ip addr del 10.0.0.2/24 dev up0
ip addr add 10.0.0.3/24 dev up0 label up0:1 metric 7; ip addr add 10.0.0.2/24 dev up0`)
				ok(t, h.Restore(ctx, was, Made{}))
				if diff := cmp.Diff(before, look()); diff != "" {
					t.Errorf("two changed places (-before +after):\n%s", diff)
				}

				ns.Run("sh", "-ec", `ip addr flush dev up0; ip addr add 10.0.0.9/24 dev up0 valid_lft 900 preferred_lft 900
ip route add 10.99.0.0/16 via 10.0.0.44 proto bird`)
				ok(t, h.Restore(ctx, was, Made{}))
				ok(t, h.PutOthersBehind(ctx, was))
				var after, others []string
				for _, line := range look() {
					if strings.Contains(line, "10.0.0.9/24") || strings.Contains(line, "bird") {
						others = append(others, line)
					} else {
						after = append(after, line)
					}
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("not as before, beside what others added (-before +after):\n%s", diff)
				}
				if len(others) != 2 || !strings.Contains(others[0], "secondary dynamic") {
					t.Errorf("what others added: %q", others)
				}
			})
		})
	}
}

// The kernel itself makes temporary addresses (RFC 8981). An undo restores the address beside which
// the kernel makes one, and does not restore the temporary one as a normal address. The line that
// keeps it: addresses.go, IFA_F_TEMPORARY.
func TestRestoreLeavesTemporaryAddresses(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip link add up0 type veth peer name up1; echo 2 > /proc/sys/net/ipv6/conf/up0/use_tempaddr; ip link set up1 up; ip link set up0 up
ip addr add 2001:db8:1::2/64 dev up0 valid_lft 900 preferred_lft 900 mngtmpaddr
ip addr add 2001:db8:2::2/64 dev up0`)
	look := func() (temporary, others []string) {
		for line := range strings.Lines(ns.Run("ip", "-6", "-o", "addr", "show", "up0", "scope", "global")) {
			if is := strings.Fields(line); strings.Contains(line, "temporary") {
				temporary = append(temporary, is[3])
			} else {
				others = append(others, is[3])
			}
		}
		return temporary, others
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		was, err := Read(ctx, h.net)
		ok(t, err)
		temporary, before := look()
		if len(temporary) != 1 || len(before) != 2 {
			t.Fatalf("at first: temporary %q, and %q", temporary, before)
		}
		for _, change := range []string{"ip addr del " + temporary[0] + " dev up0", "ip -6 addr flush dev up0 scope global"} {
			ns.Run("sh", "-ec", change)
			ok(t, h.Restore(ctx, was, Made{}))
			var after []string
			if temporary, after = look(); !cmp.Equal(before, after) {
				t.Errorf("after %s: (-want +got):\n%s", change, cmp.Diff(before, after))
			}
		}
		if len(temporary) != 1 {
			t.Errorf("of the address that came back there are: %q", temporary)
		}
	})
}

// An undo may come before the manager of a link has finished. Then an address that the manager is
// about to remove stays in place. If the undo moved it, it would be there again after the manager
// removed it. Afterwards the order is right again, and addresses that others added stay behind. The
// lines that keep it: addresses.go, inOrder and othersBehind.
func TestRestoreWaitsForManagersOfAddresses(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `ip link add up0 type bridge; ip link set up0 up; ip addr add 10.0.0.2/24 dev up0`)
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("sh", "-ec", `ip addr flush dev up0; ip addr add 10.0.0.9/24 dev up0`)
		look := func(what string, want ...string) {
			now, err := h.net.Addresses(ctx, "up0")
			ok(t, err)
			var list []string
			for _, a := range now {
				if a.Prefix.Addr().Is4() {
					list = append(list, a.Prefix.Addr().String())
				}
			}
			if diff := cmp.Diff(want, list); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		for range 2 {
			ok(t, h.Restore(ctx, was, Made{}))
			look("restored", "10.0.0.9", "10.0.0.2")
		}
		for range 2 {
			ok(t, h.PutOthersBehind(ctx, was))
			look("put behind", "10.0.0.2", "10.0.0.9")
		}
		ok(t, h.Restore(ctx, was, Made{}))
		look("restored once more", "10.0.0.2", "10.0.0.9")
	})
}
