package inbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// knockTime is how long a port may take to accept a connection.
const knockTime = time.Second

// targets are the addresses of a node that are knocked on: the first of each family. What is no
// address of a host's on a network, a Node does not have; one that says so is not believed.
func targets(addresses []netip.Addr) (out []netip.Addr) {
	for _, a := range addresses {
		same := func(o netip.Addr) bool { return o.Is4() == a.Is4() }
		if a.IsGlobalUnicast() && !slices.ContainsFunc(out, same) {
			out = append(out, a)
		}
	}
	return out
}

// answerTo is what a node says that knocks on the addresses of another one, unless it is in the
// middle of a change.
func answerTo(ctx context.Context, nonce string, busy func() bool, addresses []netip.Addr, ports []uint16) answer {
	a := answer{Nonce: nonce, Busy: busy()}
	if !a.Busy {
		a.Open = knock(ctx, targets(addresses), ports)
		a.Busy = busy() // it may have begun meanwhile
	}
	return a
}

// knock connects to each port once and sends nothing. It returns those that accept, sorted.
func knock(ctx context.Context, addresses []netip.Addr, ports []uint16) (open []string) {
	ctx, stop := context.WithTimeoutCause(ctx, knockTime, errors.New("nobody opens"))
	defer stop()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, address := range addresses {
		for _, port := range ports {
			all.Go(func() {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", netip.AddrPortFrom(address, port).String())
				if err != nil {
					return
				}
				_ = conn.Close() // nothing was sent
				mu.Lock()
				defer mu.Unlock()
				open = append(open, name(address.Is4(), port))
			})
		}
	}
	all.Wait()
	slices.Sort(open)
	return open
}

// name is how a port of a family is called.
func name(ip4 bool, port uint16) string {
	if ip4 {
		return fmt.Sprintf("tcp4:%d", port)
	}
	return fmt.Sprintf("tcp6:%d", port)
}
