package cleanup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/node"
)

// flow is traffic over things of other owners: a connection from a namespace to a server, which
// answers with the address that it sees.
type flow struct {
	what      string
	namespace string
	from      string // an address; "": the kernel chooses
	to        string
	seen      string
}

// traffic returns the flows of testdata/decoys.sh: by each table of the second uplink, and to each
// port that podman publishes, from another machine and from the node. The servers are sockets in
// namespaces of the node, so no program of theirs runs on it.
func (n *switchNode) traffic(f *node.Fabric) (flows []flow) {
	n.t.Helper()
	n.answer("mgmt", "198.51.100.1")
	for line := range strings.Lines(n.Read("/run/proof/uplink")) {
		table, address, _ := strings.Cut(strings.TrimSpace(line), " ")
		flows = append(flows, flow{"the second uplink, by table " + table, n.Netns(), address, "198.51.100.1:80", address})
	}
	n.answer("podman", "10.88.0.2")
	n.answer("podman", "fd88::2")
	for port, way := range map[string]string{"8088": "iptables-nft", "8089": "iptables-legacy", "8090": "nft"} {
		what := "podman's port of " + way
		inside, inside6, here := "10.88.0.1", "fd88::1", "10.88.0.1" // masqueraded
		if way == "nft" {
			inside, inside6, here = node.Gateway4, node.Gateway6, n.Address()
		}
		flows = append(flows,
			flow{what, f.Netns(), "", net.JoinHostPort(n.Address(), port), inside},
			flow{what + ", IPv6", f.Netns(), "", net.JoinHostPort(n.Address6(), port), inside6},
			flow{what + ", from the node", n.Netns(), "", net.JoinHostPort(n.Address(), port), here})
	}
	return flows
}

// answer listens in a namespace of the node, and tells each client its address.
func (n *switchNode) answer(namespace, address string) {
	n.t.Helper()
	err := netns.In(n.Path("/run/netns/"+namespace), func() error {
		l, err := net.Listen(family(address), net.JoinHostPort(address, "80"))
		if err != nil {
			return err
		}
		n.t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return // closed
				}
				client, _, _ := net.SplitHostPort(c.RemoteAddr().String())
				_, _ = io.WriteString(c, client) // the client may be gone
				c.Close()
			}
		}()
		return nil
	})
	if err != nil {
		n.t.Fatalf("listening in %s: %v", namespace, err)
	}
}

// family returns the network of an address in the words of package net: see netns.In.
func family(address string) string {
	if a, err := netip.ParseAddr(address); err == nil && a.Is6() {
		return "tcp6"
	}
	return "tcp4"
}

// carries fails for each flow over things of other owners that does not arrive.
func (n *switchNode) carries(when string) {
	n.t.Helper()
	n.flowsCarry(when, n.flows)
}

func (n *switchNode) flowsCarry(when string, flows []flow) {
	n.t.Helper()
	failed := make([]error, len(flows))
	var all sync.WaitGroup
	for i, f := range flows {
		all.Go(func() { failed[i] = f.send() })
	}
	all.Wait()
	for i, err := range failed {
		if err != nil {
			n.t.Errorf("%s, %s carries nothing: %v", when, flows[i].what, err)
		}
	}
}

// send makes a connection and reads the address that the other end sees.
func (f flow) send() error {
	return netns.In(f.namespace, func() (err error) {
		d := net.Dialer{Timeout: 20 * time.Second} // far more than a busy machine needs
		if f.from != "" {
			d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(f.from)}
		}
		host, _, err := net.SplitHostPort(f.to)
		if err != nil {
			return err
		}
		c, err := d.Dial(family(host), f.to)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		if err := c.SetDeadline(time.Now().Add(d.Timeout)); err != nil {
			return err
		}
		seen, err := io.ReadAll(c)
		if err == nil && string(seen) != f.seen {
			err = fmt.Errorf("%s sees %s as %s, want %s", f.to, cmp.Or(f.from, "it"), seen, f.seen)
		}
		return err
	})
}
