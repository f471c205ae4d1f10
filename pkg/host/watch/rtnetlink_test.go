package watch

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// netInterest is about the interest of a node with bridge.
func netInterest() Interest {
	dst := netip.MustParsePrefix("10.2.0.0/24")
	return Interest{
		Links:     []string{"cbr0"},
		Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("2001:db8::1")},
		Routes:    []rtnl.Route{{Dst: dst, Gateway: netip.MustParseAddr("192.0.2.3")}, {Dst: netip.MustParsePrefix("2001:db8:2::/64"), Link: "cbr0", Table: 300}},
		Rules:     []rtnl.Rule{{Family: 4, Priority: 700, Table: 300}, {Family: 6, Priority: 701, Table: 300}},
		Sysctls: []string{
			"net.ipv4.ip_forward", "net.ipv4.conf.cbr0.rp_filter", "net.ipv6.conf.all.forwarding", "net.ipv4.conf.all.rp_filter", "net.bridge.bridge-nf-call-iptables",
		},
	}
}

func TestTheNetworkWakes(t *testing.T) {
	ns := netns.New(t)
	ip := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			ns.Run("ip", strings.Fields(line)...)
		}
	}
	ip("link add up0 type veth peer name up1", "addr add 192.0.2.2/24 dev up0", "link set up0 up", "link set up1 up", "link add cbr0 type bridge", "link set cbr0 up")
	var w *Watcher
	ns.Do(func() { w = watching(t, Options{Sandbox: true}, netInterest()) })
	awaitWake(t, w, Links, "") // the list of links
	for _, c := range []struct {
		source Source
		do     string
	}{
		{Addresses, "addr add 10.1.0.1/24 dev cbr0"},
		{Addresses, "addr del 10.1.0.1/24 dev cbr0"},
		{Addresses, "addr add 2001:db8::1/64 dev cbr0"},
		{Routes, "route add 10.2.0.0/24 via 192.0.2.3"},
		{Routes, "route change 10.2.0.0/24 via 192.0.2.4"},
		{Routes, "route del 10.2.0.0/24"},
		{Routes, "-6 route add 2001:db8:2::/64 dev cbr0 table 300"},
		{Routes, "-6 route flush table 300"},
		{Rules, "rule add pref 700 lookup 300"},
		{Rules, "rule del pref 700"},
		{Rules, "-6 rule add pref 701 lookup 300"},
		{Links, "link set cbr0 mtu 1400"},
		{Links, "link set cbr0 address 02:00:00:00:00:01"},
		{Links, "link set cbr0 down"},
		{Links, "link set up0 down"}, // the route to 10.2.0.0/24 goes with it, without an event
		{Links, "link del cbr0"},
		{Links, "link add cbr0 type bridge"},
		{Links, "link set cbr0 name other"},
		{Links, "link set other name cbr0"},
	} {
		w.Take()
		t.Log(c.do)
		ip(c.do)
		if got := awaitWake(t, w, c.source, ""); got[c.source].Lost {
			t.Errorf("%s: awaitWake returns %v", c.do, got)
		}
	}
	for _, key := range []string{"ipv4/ip_forward", "ipv4/conf/cbr0/rp_filter", "ipv6/conf/all/forwarding", "ipv4/conf/all/rp_filter"} {
		w.Take()
		ns.Run("sh", "-c", "f=/proc/sys/net/"+key+`; [ $(cat $f) = 1 ] && echo 0 >$f || echo 1 >$f`)
		awaitWake(t, w, Sysctls, "")
	}
}

// A lease with another address changes what is true of the node. A lease that is renewed does not,
// nor do the addresses of other links. The lines that keep it: rtnetlink.go, address (holders);
// rtnetlink_filter.go, addressProgram (holders).
func TestAnotherAddressOfTheNodeWakes(t *testing.T) {
	ns := netns.New(t)
	ip := func(line string) { ns.Run("ip", strings.Fields(line)...) }
	for _, line := range []string{"link add up0 type veth peer name up1", "link set up0 up", "addr add 192.0.2.2/24 dev up0", "addr add 2001:db8::2/64 dev up0 nodad"} {
		ip(line)
	}
	holders := func(addresses ...string) Interest {
		i := Interest{Links: []string{"up1"}, Holders: map[string][]netip.Addr{"up0": nil}}
		for _, a := range addresses {
			i.Holders["up0"] = append(i.Holders["up0"], netip.MustParseAddr(a))
		}
		return i
	}
	var w *Watcher
	ns.Do(func() { w = watching(t, Options{Sandbox: true}, holders("192.0.2.2", "2001:db8::2")) })
	awaitWake(t, w, Links, "up0")
	filtered := func(mtu string) { // the kernel has listed the links before it reports this
		t.Helper()
		ip("link set up1 mtu " + mtu)
		onlyOf(t, awaitWake(t, w, Links, "up1"), Links)
	}
	filtered("1300")
	for _, c := range []struct{ do, address string }{
		{"addr add 192.0.2.3/24 dev up0", "192.0.2.3"},
		{"addr del 192.0.2.2/24 dev up0", "192.0.2.2"},
		{"addr add 2001:db8::3/64 dev up0 nodad", "2001:db8::3"},
		{"addr del 2001:db8::2/64 dev up0", "2001:db8::2"},
	} {
		ip(c.do)
		awaitWake(t, w, Addresses, c.address)
	}
	ns.Do(func() { w.Set(holders("192.0.2.3", "2001:db8::3")) })
	filtered("1350")
	ip("addr change 192.0.2.3/24 dev up0 valid_lft 1000 preferred_lft 1000")
	ip("addr change 2001:db8::3/64 dev up0 valid_lft 1000 preferred_lft 1000")
	ip("addr add 192.0.2.4/24 dev lo")
	filtered("1400")
}

// A default route on another link changes what is true of the node. One that is reported again on
// its link does not, nor does one of another table or of the family that is behind. The lines that
// keep it: rtnetlink.go, moves; rtnetlink_filter.go, routeProgram (ignoresRoutes).
func TestTheDefaultRouteOnAnotherLinkWakes(t *testing.T) {
	ns := netns.New(t)
	ip := func(line string) { ns.Run("ip", strings.Fields(line)...) }
	for _, line := range []string{
		"link add up0 type veth peer name up1", "link set up0 up", "link set up1 up",
		"addr add 192.0.2.2/24 dev up0", "addr add 198.51.100.2/24 dev up1", "route add default via 192.0.2.1",
		"link add up2 type veth peer name up3", "link set up2 up", "link set up3 up",
	} {
		ip(line)
	}
	aim := func(uplink string, v6 bool) Interest {
		return Interest{Links: []string{"up1"}, Holders: map[string][]netip.Addr{"up0": nil}, Default: DefaultRoute{uplink, v6}}
	}
	var w *Watcher
	ns.Do(func() { w = watching(t, Options{Sandbox: true}, aim("up0", false)) })
	awaitWake(t, w, Links, "up0")
	mtu := 1300
	quiet := func() {
		t.Helper()
		mtu++
		ip(fmt.Sprint("link set up1 mtu ", mtu))
		onlyOf(t, awaitWake(t, w, Links, "up1"), Links)
	}
	quiet()
	for _, line := range []string{
		"route replace default via 192.0.2.1 dev up0 mtu 1400", "route add default via 192.0.2.9 dev up0 metric 900",
		"-6 route add default dev up2", "route add default via 198.51.100.1 dev up1 table 100",
		"route add 203.0.113.0/24 via 198.51.100.1 dev up1",
	} {
		ip(line)
	}
	quiet()
	for _, line := range []string{"route add default via 198.51.100.1 dev up1 metric 50", "route del default via 192.0.2.1 dev up0"} {
		ip(line)
		awaitWake(t, w, Routes, "0.0.0.0/0")
	}
	ip("-6 route del default dev up2")
	for _, next := range []Interest{aim("up0", true), aim("", false)} {
		ns.Do(func() { w.Set(next) })
		quiet()
		ip("-6 route add default dev up2")
		awaitWake(t, w, Routes, "::/0")
		ip("-6 route del default dev up2")
	}
	quiet()
}

// Pods come and go every second, with their links, addresses, routes and sysctls. None of them
// causes an event, and the kernel drops most of their messages. The lines that keep it:
// rtnetlink_filter.go, program.
func TestPodsDoNotWake(t *testing.T) {
	ns := netns.New(t)
	run := func(format string, args ...any) { ns.Run("ip", strings.Fields(fmt.Sprintf(format, args...))...) }
	run("link add cbr0 address 02:00:00:00:00:01 type bridge")
	run("link set cbr0 up")
	w := New(Options{Sandbox: true})
	t.Cleanup(func() { noError(t, w.Close()) })
	var read atomic.Int64
	for _, s := range w.sources {
		if r, ok := s.(*routeWatch); ok {
			r.received = func(b []byte) {
				for range messages(b) {
					read.Add(1)
				}
				r.handle(b)
			}
		}
	}
	ns.Do(func() { w.Set(netInterest()) })
	awaitWake(t, w, Links, "")
	run("link set cbr0 mtu 1450") // the link before any pod
	awaitWake(t, w, Links, "cbr0")
	before := read.Load()
	const pods, each = 20, 8 // of rules, of routes to the same destination, of the bridge itself: 50 without a filter
	for n := range pods {
		run("link add pod%d type veth peer name in%d", n, n)
		run("link set pod%d master cbr0", n)
		run("link set pod%d mtu 1450 up", n)
		run("link set in%d up", n)
		run("addr add 10.1.0.%d/32 dev in%d", n+10, n)
		run("route add 10.9.0.%d/32 dev pod%d", n+1, n)
		run("route add 10.2.0.0/24 dev pod%d table %d", n, 1000+n)
		run("rule add pref %d lookup %d", 1000+n, 1000+n)
		ns.Run("sh", "-c", fmt.Sprintf("echo 0 >/proc/sys/net/ipv4/conf/pod%d/rp_filter", n))
		run("link del pod%d", n)
	}
	run("addr add 10.1.0.1/24 dev cbr0")
	got := awaitWake(t, w, Addresses, "10.1.0.1")
	onlyOf(t, got, Addresses)
	if more := read.Load() - before; more > each*pods {
		t.Errorf("%d pods cause %d messages, want at most %d for each", pods, more, each)
	}
}

// The filter knows names of every length. The lines that keep it: rtnetlink_filter.go, nameIs.
func TestLinksOfAnyNameWake(t *testing.T) {
	ns := netns.New(t)
	var names []string
	for n := range 15 {
		names = append(names, "abcdefghijklmno"[:n+1])
	}
	var w *Watcher
	ns.Do(func() { w = watching(t, Options{Sandbox: true}, Interest{Links: append(names, "lo")}) })
	awaitWake(t, w, Links, "lo")
	for _, name := range names {
		ns.Run("ip", "link", "add", "other", "type", "bridge")
		ns.Run("ip", "link", "set", "dev", "other", "name", name)
		awaitWake(t, w, Links, name)
		ns.Run("ip", "link", "del", "dev", name)
		awaitWake(t, w, Links, name)
	}
}

// The kernel drops events if nobody reads them in time. The watcher reports that, and goes on, also
// with events of a link that was made meanwhile.
func TestLostNetworkEventsAreOneMoreLook(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "cbr0", "type", "bridge")
	var w *Watcher
	ns.Do(func() { w = watching(t, Options{Sandbox: true}, netInterest()) })
	awaitWake(t, w, Links, "")
	w.mu.Lock() // the reader of the next event of cbr0 waits here
	ns.Run("ip", "link", "del", "cbr0")
	ns.Run("ip", "link", "add", "cbr0", "type", "bridge")
	batch := filepath.Join(t.TempDir(), "batch")
	noError(t, os.WriteFile(batch, []byte(strings.Repeat("link set cbr0 mtu 1400\nlink set cbr0 mtu 1500\n", 500)), 0o600))
	for dropped := false; !dropped; {
		ns.Run("ip", "-batch", batch)
		for _, line := range strings.Split(ns.Run("cat", "/proc/thread-self/net/netlink"), "\n") {
			const protocol, drops = 1, 8 // net/netlink/af_netlink.c, netlink_native_seq_show
			if f := strings.Fields(line); len(f) > drops && f[protocol] == "0" && f[drops] != "0" {
				dropped = true
			}
		}
	}
	ns.Run("ip", "link", "del", "cbr0")
	ns.Run("ip", "link", "add", "cbr0", "type", "bridge")
	w.mu.Unlock()
	for lost := false; !lost; {
		lost = awaitWake(t, w, Links, "")[Links].Lost
	}
	ns.Run("ip", "link", "set", "cbr0", "mtu", "1400")
	awaitWake(t, w, Links, "cbr0")
}

func TestSysctlTold(t *testing.T) {
	for key, want := range map[string]bool{
		"net.ipv4.ip_forward": true, "net.ipv4.conf.all.rp_filter": true, "net.ipv4.conf.eth0/1.forwarding": true, "net.ipv6.conf.default.forwarding": true,
		"net.ipv6.conf.all.rp_filter": false, "net.bridge.bridge-nf-call-iptables": false, "net.ipv4.conf.all.arp_ignore": false, "net.core.somaxconn": false,
	} {
		if got := SysctlNotifies(key); got != want {
			t.Errorf("%s: SysctlNotifies returns %v, want %v", key, got, want)
		}
	}
}
