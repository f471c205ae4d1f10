package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// Pods on two nodes reach each other with the agent alone. Only an outside server sees another
// address than the pods' own.
func TestPodsTalk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec     string
		podCIDRs [2]string
		address  [2]string
		outside  []string
		drop     bool // a FORWARD policy of DROP, as Docker sets it
	}{
		"IPv4":         {bridgeSpec, [2]string{"[10.244.1.0/24]", "[10.244.2.0/24]"}, [2]string{"10.77.0.11", "10.77.0.12"}, []string{node.Outside4}, false},
		"FORWARD DROP": {bridgeSpec, [2]string{"[10.244.1.0/24]", "[10.244.2.0/24]"}, [2]string{"10.77.0.11", "10.77.0.12"}, []string{node.Outside4}, true},
		"dual stack": {
			strings.NewReplacer("podCIDR: 10.244.0.0/16", "podCIDR: 10.244.0.0/16,fd00:244::/48",
				"nonMasqueradeCIDR: 10.0.0.0/8", "nonMasqueradeCIDR: 10.0.0.0/8,fd00::/16").Replace(bridgeSpec),
			[2]string{"[10.244.1.0/24, 'fd00:244:0:1::/64']", "[10.244.2.0/24, 'fd00:244:0:2::/64']"},
			[2]string{"10.77.0.11,fd00:77::11", "10.77.0.12,fd00:77::12"}, []string{node.Outside4, node.Outside6}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, c.spec, nil)
			for i := range 2 {
				path, text := nodeDocument(fmt.Sprintf("node-%d", i+1), c.address[i], c.podCIDRs[i])
				s.write(t, path, text)
			}
			s.write(t, "cluster.yaml", document("Cluster", cluster, c.spec+s.pluginSpec(t)))
			fabric := node.NewFabric(t)
			ctx := t.Context()
			var nodes [2]*node.Node
			var pods [2]*node.Pod
			for i := range nodes {
				extra := node.Options{}
				if c.drop {
					extra.Files = map[string]string{"/etc/systemd/system/docker-like.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/iptables -P FORWARD DROP\n"}
					extra.Enable = []string{"docker-like.service"}
				}
				nodes[i] = fabric.Node(t, options(t, s, fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.77.0.1%d", i+1), extra))
				// New links of this host get no link-local address, but the bridge has one.
				nodes[i].Must(ctx, "sysctl", "-qw", "net.ipv6.conf.default.addr_gen_mode=1")
				nodes[i].Must(ctx, "netwright", "--once")
				pods[i] = nodes[i].AddPod(ctx, "pod", node.PodOptions{Ports: []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}})
			}
			for i, addr := range pods[1].Addresses {
				pods[0].Ping(ctx, addr.String())
				seen := peerSeenBy(t, pods[1], netip.AddrPortFrom(addr, 80), pods[0])
				if seen != pods[0].Addresses[i] {
					t.Errorf("a pod of node 2 sees %s, want the pod's own %s", seen, pods[0].Addresses[i])
				}
			}
			for i, outside := range c.outside {
				want := []netip.Addr{netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("fd00:77::11")}[i]
				if seen := peerSeenBy(t, fabric, netip.AddrPortFrom(netip.MustParseAddr(outside), 80), pods[0]); seen != want {
					t.Errorf("a host outside sees %s, want the node's %s", seen, want)
				}
			}
			// A client outside connects to the hostPort of node 1.
			hostPort(t, fabric, pods[0], netip.MustParseAddrPort("10.77.0.11:8080"))
			// A pod connects to itself by its own hostPort: hairpin.
			hostPort(t, pods[0], pods[0], netip.MustParseAddrPort("10.77.0.11:8080"))
			proved(ctx, t, "bridge, "+name, nodes)
			pods[0].Delete(ctx)
			if res := nodes[0].Run(ctx, "netwright", "--once"); res.Code != 0 || !strings.Contains(res.Stdout, "nothing to do") {
				t.Errorf("after pods came and went: exit %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
			}
		})
	}
}

// place is where sockets are made: in a pod, a node or the fabric.
type place interface{ Do(func() error) error }

// peerSeenBy connects from one place to a listener in another, and returns the address that the
// listener sees.
func peerSeenBy(t *testing.T, server place, at netip.AddrPort, client place) netip.Addr {
	t.Helper()
	l := listen(t, server, at)
	defer l.Close()
	var conn net.Conn
	err := client.Do(func() (err error) {
		conn, err = net.DialTimeout(network(at), at.String(), time.Minute)
		return err
	})
	if err != nil {
		t.Fatalf("connect to %s: %v", at, err)
	}
	defer conn.Close()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	return netip.MustParseAddrPort(peer.RemoteAddr().String()).Addr()
}

// hostPort connects to a node's port and expects the pod's greeting.
func hostPort(t *testing.T, client place, pod *node.Pod, to netip.AddrPort) {
	t.Helper()
	l := listen(t, pod, netip.AddrPortFrom(pod.Addresses[0], 80))
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintln(conn, "hello from the pod")
	}()
	err := client.Do(func() error {
		conn, err := net.DialTimeout(network(to), to.String(), time.Minute)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err == nil && line != "hello from the pod\n" {
			err = fmt.Errorf("got %q", line)
		}
		return err
	})
	if err != nil {
		t.Errorf("the pod by hostPort %s: %v", to, err)
	}
}

func listen(t *testing.T, at place, addr netip.AddrPort) *net.TCPListener {
	t.Helper()
	var l net.Listener
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := at.Do(func() (err error) {
			l, err = net.Listen(network(addr), addr.String())
			return err
		})
		if err == nil {
			break
		}
		// A child process of another test may have a copy of the closed socket, until the child
		// runs its program.
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			t.Fatalf("listen on %s: %v", addr, err)
		}
	}
	tcp := l.(*net.TCPListener)
	if err := tcp.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return tcp
}

func network(a netip.AddrPort) string {
	if a.Addr().Is4() {
		return "tcp4"
	}
	return "tcp6"
}
