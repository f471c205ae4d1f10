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

// knockTime is the time within which a port must accept a connection.
const knockTime = time.Second

// targets returns the addresses of a node to which a peer connects: the first of each family. It
// skips addresses that are not global unicast, because no Node has such an address.
func targets(addresses []netip.Addr) (out []netip.Addr) {
	for _, a := range addresses {
		same := func(o netip.Addr) bool { return o.Is4() == a.Is4() }
		if a.IsGlobalUnicast() && !slices.ContainsFunc(out, same) {
			out = append(out, a)
		}
	}
	return out
}

// answerTo connects to the addresses of a node and returns the answer, unless this node makes a
// change itself.
func answerTo(ctx context.Context, nonce string, busy func() bool, addresses []netip.Addr, ports []uint16) answer {
	a := answer{Nonce: nonce, Busy: busy()}
	if !a.Busy {
		a.Open = knock(ctx, targets(addresses), ports)
		a.Busy = busy() // a change may have begun meanwhile
	}
	return a
}

// knock connects once to each port and sends nothing. It returns the ports that accept, sorted.
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

// name returns the name of a port in an address family.
func name(ip4 bool, port uint16) string {
	if ip4 {
		return fmt.Sprintf("tcp4:%d", port)
	}
	return fmt.Sprintf("tcp6:%d", port)
}
