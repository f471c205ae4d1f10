package firewall

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/netns"
)

// lab is a node with two pods on cbr0, another node with a pod network behind
// it, and a host outside that knows no way to pods:
//
//	pod1 10.96.1.2 ┐                     ┌ node2 192.0.2.12 with pod 10.96.2.2
//	pod2 10.96.1.3 ┴ cbr0 · node1 · up0 ─┴ outside 192.0.2.99
type lab struct{ pod1, pod2, node1, node2, outside *netns.NS }

const (
	pod1IP, pod2IP, farPodIP = "10.96.1.2", "10.96.1.3", "10.96.2.2"
	node1IP, outsideIP       = "192.0.2.2", "192.0.2.99"
	pod1IP6, farPodIP6       = "fd00:1::2", "fd00:2::2"
	node1IP6, outsideIP6     = "2001:db8::2", "2001:db8::99"
)

func newLab(t *testing.T) lab {
	l := lab{netns.New(t), netns.New(t), netns.New(t), netns.New(t), netns.New(t)}
	forward := func(n *netns.NS) {
		n.Do(func() {
			for _, key := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
				noError(t, os.WriteFile("/proc/sys/net/"+key, []byte("1"), 0o600))
			}
		})
	}
	ip := func(n *netns.NS, lines string) {
		for line := range strings.Lines(lines) {
			if args := strings.Fields(line); len(args) > 0 {
				n.Run("ip", args...)
			}
		}
	}
	forward(l.node1)
	forward(l.node2)
	ip(l.node1, `link add cbr0 type bridge
		addr add 10.96.1.1/24 dev cbr0
		addr add fd00:1::1/64 dev cbr0 nodad
		link set cbr0 up
		link add sw type bridge
		link set sw up`)
	// The network between the nodes is a bridge in the host outside.
	ip(l.outside, `link add sw type bridge
		addr add 192.0.2.99/24 dev sw
		addr add 2001:db8::99/64 dev sw nodad
		link set sw up`)
	for name, n := range map[string]*netns.NS{"n1": l.node1, "n2": l.node2} {
		ip(l.outside, "link add "+name+" type veth peer name up0 netns "+n.Path()+"\n link set "+name+" master sw up")
	}
	ip(l.node1, `link del sw
		addr add 192.0.2.2/24 dev up0
		addr add 2001:db8::2/64 dev up0 nodad
		link set up0 up
		route add 10.96.2.0/24 via 192.0.2.12
		-6 route add fd00:2::/64 via 2001:db8::12`)
	ip(l.node2, `addr add 192.0.2.12/24 dev up0
		addr add 2001:db8::12/64 dev up0 nodad
		link set up0 up
		addr add 10.96.2.2/32 dev lo
		addr add fd00:2::2/128 dev lo nodad
		route add 10.96.1.0/24 via 192.0.2.2
		-6 route add fd00:1::/64 via 2001:db8::2`)
	for i, pod := range []*netns.NS{l.pod1, l.pod2} {
		port, last := []string{"v1", "v2"}[i], []string{"2", "3"}[i]
		ip(l.node1, "link add "+port+" type veth peer name eth0 netns "+pod.Path()+"\n link set "+port+" master cbr0 up")
		ip(pod, "addr add 10.96.1."+last+"/24 dev eth0\n addr add fd00:1::"+last+"/64 dev eth0 nodad\n link set eth0 up\n"+
			"route add default via 10.96.1.1\n -6 route add default via fd00:1::1")
	}
	return l
}

// seenAs connects by TCP from one namespace to an address in another. It returns the address that
// the other end sees; "" if no connection comes.
func seenAs(t *testing.T, from, to *netns.NS, addr string, wait time.Duration) string {
	t.Helper()
	var listener net.Listener
	to.Do(func() {
		var err error
		listener, err = net.Listen("tcp", net.JoinHostPort(addr, "0"))
		noError(t, err)
	})
	defer listener.Close()
	seen := make(chan string, 1)
	go func() {
		defer close(seen)
		if c, err := listener.Accept(); err == nil {
			seen <- netip.MustParseAddrPort(c.RemoteAddr().String()).Addr().String()
			_ = c.Close()
		}
	}()
	var err error
	from.Do(func() {
		// IPv6 gives up a neighbour within seconds, if a link has just come up and its own address
		// is not yet usable.
		for end := time.Now().Add(wait); ; time.Sleep(50 * time.Millisecond) {
			var c net.Conn
			if c, err = net.DialTimeout("tcp", listener.Addr().String(), time.Until(end)); err == nil {
				_ = c.Close()
				return
			}
			if time.Now().After(end) {
				return
			}
		}
	})
	if err != nil {
		_ = listener.Close()
	}
	return <-seen
}

// passes and blocked wait long for a packet that must arrive, and briefly for one that must not.
func passes(t *testing.T, from, to *netns.NS, addr, as string) {
	t.Helper()
	if got := seenAs(t, from, to, addr, time.Minute); got != as {
		t.Errorf("to %s: seen as %q, want %q", addr, got, as)
	}
}

func blocked(t *testing.T, from, to *netns.NS, addr string) {
	t.Helper()
	if got := seenAs(t, from, to, addr, 300*time.Millisecond); got != "" {
		t.Errorf("to %s: it gets there, as %s", addr, got)
	}
}

func TestOnlyWhatLeavesTheClusterIsMasqueraded(t *testing.T) {
	for name, families := range map[string][]string{"one table": {"inet"}, "one per family": {"ip", "ip6"}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			blocked(t, l.pod1, l.outside, outsideIP) // the answer has no route to a pod's address
			l.node1.Do(func() {
				for _, family := range families {
					noError(t, openTest().ReplaceTable(t.Context(), masquerading(family)))
				}
			})
			passes(t, l.pod1, l.outside, outsideIP, node1IP)
			passes(t, l.pod1, l.outside, outsideIP6, node1IP6)
			passes(t, l.pod1, l.node2, farPodIP, pod1IP)
			passes(t, l.pod1, l.node2, farPodIP6, pod1IP6)
			passes(t, l.node2, l.pod1, pod1IP, "192.0.2.12")
			passes(t, l.pod1, l.pod2, pod2IP, pod1IP)
			passes(t, l.pod1, l.node1, node1IP, pod1IP) // the node itself sees the pod
			passes(t, l.node1, l.pod1, pod1IP, "10.96.1.1")
		})
	}
}
