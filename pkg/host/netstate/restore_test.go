package netstate

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// An undo restores a link of ours that a change removed, with its addresses and routes. It takes an
// uplink out of a bridge again, and removes what the change made. What others made meanwhile stays,
// and a link of others that was removed is not made again. The lines that keep it: links.go,
// restoreLinks (made), setFlags, restoreMaster, delMade; pkg/host/rtnl/links_write.go, AddLink
// (Index).
func TestRestoreBringsLinksBack(t *testing.T) {
	ns := netns.New(t)
	for _, line := range []string{
		"link add up0 type veth peer name up1", "link set up0 up", "link set up1 up", "addr add 10.0.0.2/24 dev up0", "route add default via 10.0.0.1",
		"link add theirs0 type bridge", "link set theirs0 up", "addr add 10.9.0.1/24 dev theirs0", "route add 10.99.0.0/16 via 10.9.0.9 dev theirs0",
		"link add cbr0 address 0a:58:0a:00:00:01 mtu 1400 type bridge", "link set cbr0 up", "addr add 10.244.1.1/24 dev cbr0",
		"route add 10.244.9.0/24 via 10.244.1.9 dev cbr0",
		"link add port0 type veth peer name port1", "link set port0 master cbr0",
	} {
		ns.Run("ip", strings.Fields(line)...)
	}
	// The text leaves out the carrier of a link, which the kernel reports a moment later.
	look := func() string {
		var out strings.Builder
		for _, args := range [][]string{{"link"}, {"-4", "addr"}} {
			for _, l := range ns.IPJSON(args...) {
				flags := slices.DeleteFunc(l["flags"].([]any), func(f any) bool { return f == "LOWER_UP" || f == "NO-CARRIER" })
				fmt.Fprintln(&out, l["ifname"], l["address"], l["mtu"], l["master"], l["ifindex"], flags)
				list, _ := l["addr_info"].([]any)
				for _, a := range list {
					fmt.Fprintln(&out, l["ifname"], a.(map[string]any)["local"], a.(map[string]any)["prefixlen"])
				}
			}
		}
		return out.String() + strings.ReplaceAll(ns.Run("ip", "route"), "linkdown ", "")
	}
	ns.Do(func() {
		h, ctx := openNet(t), t.Context()
		before := look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		for _, line := range []string{
			"link set port0 nomaster", "link del cbr0", "link del theirs0", "link add other0 type bridge",
			"link set up0 arp off multicast off allmulticast on promisc on",
			"link add br9 type bridge", "link set up0 master br9", "link set br9 up", "addr add 10.0.9.2/24 dev br9", "route replace default via 10.0.9.1 dev br9",
		} {
			ns.Run("ip", strings.Fields(line)...)
		}
		made := Made{Links: []string{"cbr0", "br9"}, Addresses: []rtnl.LinkAddress{{Link: "cbr0", Prefix: netip.MustParsePrefix("10.244.1.1/24")}}}
		for range 2 {
			ok(t, h.Restore(ctx, was, made))
			after := look()
			if !strings.Contains(after, "other0") || strings.Contains(after, "theirs0") {
				t.Errorf("links of others:\n%s", after)
			}
			if diff := cmp.Diff(lines(before, "theirs0", "other0"), lines(after, "theirs0", "other0")); diff != "" {
				t.Errorf("not as before:\n%s", diff)
			}
		}
	})
}

// An undo also restores what NetworkManager set up. The addresses of NetworkManager make no routes,
// and its own routes have the kernel's protocol. The line that keeps it: route_message.go,
// wantedRoute.
func TestRestoreBringsNetworksOfAddressesBack(t *testing.T) {
	ns := netns.New(t)
	for _, line := range []string{
		"link add up0 type veth peer name up1", "link set up0 up", "link set up1 up",
		"addr add 10.0.0.2/24 dev up0 noprefixroute", "route add 10.0.0.0/24 dev up0 proto kernel scope link src 10.0.0.2 metric 100",
		"route add default via 10.0.0.1 metric 100", "-6 addr add 2001:db8::2/64 dev up0 nodad noprefixroute",
		"-6 route add 2001:db8::/64 dev up0 proto kernel metric 100", "-6 route add default via 2001:db8::1 metric 100",
	} {
		ns.Run("ip", strings.Fields(line)...)
	}
	look := func() string { return ns.Run("ip", "route") + ns.Run("ip", "-6", "route", "show", "metric", "100") }
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), look()
		was, err := Read(ctx, h.net)
		ok(t, err)
		for _, line := range []string{"route flush dev up0", "-6 route flush dev up0", "addr flush dev up0 scope global"} {
			ns.Run("ip", strings.Fields(line)...)
		}
		ok(t, h.Restore(ctx, was, Made{}))
		if diff := cmp.Diff(before, look()); diff != "" {
			t.Errorf("not as before (-before +after):\n%s", diff)
		}
	})
}

// openNet reads and changes the network of a test's own namespace.
func openNet(t *testing.T) *Writer {
	net := rtnl.Open(true)
	t.Cleanup(func() { _ = net.Close() })
	return NewWriter(net, rtnl.NewWriter(net, nil, nil), nil)
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines returns the lines of a text without those that contain one of these names.
func lines(text string, without ...string) (out []string) {
next:
	for line := range strings.Lines(text) {
		for _, name := range without {
			if strings.Contains(line, name) {
				continue next
			}
		}
		out = append(out, strings.TrimSpace(line))
	}
	return out
}
