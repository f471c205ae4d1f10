package netstate

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/netns"
)

// The kernel gave a node its addresses and its default route by router advertisements. After an
// undo it still accepts them, since otherwise the addresses would end. If another program acts on
// them, the route is as it was. The lines that keep it: routes.go, standIn and advertisedLinks.
func TestRestoreHearsRoutersOn(t *testing.T) {
	ns := netns.New(t)
	ns.Run("sh", "-ec", `echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
ip link add up0 type veth peer name up1; echo 0 > /proc/sys/net/ipv6/conf/up1/accept_ra; ip link set up1 up; ip link set up0 up`)
	defaults := func() string { return ns.Run("ip", "-6", "route", "show", "default") }
	life := func() (seconds float64) {
		for _, l := range ns.IPJSON("-6", "addr", "show", "dev", "up0", "scope", "global") {
			list, _ := l["addr_info"].([]any) // a link without such an address has none
			for _, a := range list {
				if left, is := a.(map[string]any)["valid_life_time"].(float64); is {
					seconds = left
				}
			}
		}
		return seconds
	}
	ns.Do(func() {
		// Until an advertisement has taken effect, since links need a moment to come up.
		advertise := func(lifetime float64) bool {
			for range 600 { // only so that a broken test ends
				sendAdvertisement(t, "up1", uint16(lifetime))
				time.Sleep(100 * time.Millisecond)
				if left := life(); left > lifetime-60 {
					return true
				}
			}
			return false
		}
		h, ctx := openNet(t), t.Context()
		if !advertise(1000) {
			t.Fatalf("the kernel did not hear the advertisement:\n%s", defaults())
		}
		was, err := Read(ctx, h.net)
		ok(t, err)
		ns.Run("ip", "-6", "route", "del", "default")
		for range 2 {
			ok(t, h.Restore(ctx, was, Made{}))
			if got := defaults(); strings.Count(got, "proto ra metric 1025 expires") != 1 || strings.Count(got, "\n") != 1 {
				t.Errorf("brought back: %s", got)
			}
		}
		if !advertise(2000) {
			t.Errorf("the address lives for %v s still, after another advertisement:\n%s", life(), defaults())
		}
		if got := defaults(); !strings.Contains(got, "proto ra metric 1024 expires") {
			t.Errorf("after another advertisement: %s", got)
		}

		ns.Run("sh", "-ec", `echo 0 > /proc/sys/net/ipv6/conf/up0/accept_ra; ip -6 route del default metric 1025; ip -6 route del default metric 1024`)
		ok(t, h.Restore(ctx, was, Made{}))
		if got := defaults(); !strings.Contains(got, "proto ra metric 1024 expires") || strings.Count(got, "\n") != 1 {
			t.Errorf("where the kernel hears none: %s", got)
		}
	})
}

// sendAdvertisement announces to all nodes on a link a router with this lifetime, and a network
// (RFC 4861, 4.2 and 4.6.2).
func sendAdvertisement(t *testing.T, link string, lifetime uint16) {
	t.Helper()
	h := openNet(t)
	on, err := h.net.Link(t.Context(), link)
	ok(t, err)
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6)
	ok(t, err)
	defer unix.Close(fd)
	ok(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_HOPS, 255))
	ok(t, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MULTICAST_IF, on.Index))
	m := []byte{134, 0, 0, 0, 64, 0} // type, code, checksum, hop limit, flags
	m = binary.BigEndian.AppendUint16(m, lifetime)
	m = append(m, make([]byte, 8)...) // reachable time, retransmission
	m = append(m, 3, 4, 64, 0xc0)     // a prefix: on the link, and for addresses
	for _, life := range []uint32{uint32(lifetime), uint32(lifetime), 0} {
		m = binary.BigEndian.AppendUint32(m, life)
	}
	m = append(m, netip.MustParseAddr("2001:db8:7::").AsSlice()...)
	to := &unix.SockaddrInet6{Addr: netip.IPv6LinkLocalAllNodes().As16(), ZoneId: uint32(on.Index)}
	_ = unix.Sendto(fd, m, 0, to) // it may have no address yet
}
