package probe

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Only other nodes can tell whether they reach this node. So peers connect to its ports before the
// change and after it. If a peer reached a port before the change, one of the peers that reached it
// must reach it after the change. A peer that does not answer, because it is down or makes a change
// itself, does not count.

// Knocks requests that peers connect to TCP ports of this node. It returns for each peer, by name,
// the ports that it reached, such as "tcp4:22". It leaves out peers that did not answer before the
// context ended or done returned true. If peers is nil, it finds them itself. It may be called
// again. An error says why no peer can be asked and what to do.
type Knocks func(
	ctx context.Context, ports []uint16, peers []string, done func(said map[string][]string) bool,
) (map[string][]string, error)

// The time limits of the proof.
const (
	knockBefore = 5 * time.Second        // for peers to answer before the change,
	knockGrace  = 500 * time.Millisecond // and for the others after the first answer
	knockNext   = 5 * time.Second        // for one attempt after the change
)

// inboundOf returns the probe of a port.
func inboundOf(port string) Probe { return Probe(inboundProbe + ":" + port) }

// inbound reports whether peers no longer reach the node.
func (f Failures) inbound() bool {
	return slices.ContainsFunc(f, func(one FailedProbe) bool { return one.Probe.kind() == inboundProbe })
}

// findReached asks peers before the change, while the other probes run. The function that it
// returns waits for their answers.
func (c *Comparison) findReached(ctx context.Context, r kernel) (wait func()) {
	ports := listening(r)
	if c.Knock == nil || len(ports) == 0 {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, stop := context.WithTimeoutCause(ctx, knockBefore, ErrNoAnswer)
		defer stop()
		grace := time.AfterFunc(knockBefore, stop)
		defer grace.Stop()
		said, err := c.Knock(ctx, ports, nil, func(map[string][]string) bool {
			grace.Reset(knockGrace)
			return false
		})
		c.Inbound, c.unasked = reachedBy(said), err
	}()
	return func() { <-ended }
}

// reachedBy returns the peers by port.
func reachedBy(said map[string][]string) map[string][]string {
	by := map[string][]string{}
	for _, peer := range slices.Sorted(maps.Keys(said)) {
		for _, port := range said[peer] {
			by[port] = append(by[port], peer)
		}
	}
	return by
}

// stillReached asks the same peers after the change, until the time until, but for at least a third
// of the window. It removes from the evidence the ports on which no peer has answered.
func (c *Comparison) stillReached(ctx context.Context, until time.Time) Failures {
	if len(c.Inbound) == 0 {
		return nil
	}
	reached, failed := c.awaitReached(ctx, c.sockets(), until)
	if len(failed) == 0 {
		maps.DeleteFunc(c.Inbound, func(port string, _ []string) bool { return !slices.Contains(reached, port) })
	}
	return failed
}

// reachedAgain reports whether peers reach every port again after the undo.
func (c *Comparison) reachedAgain(ctx context.Context, until time.Time) bool {
	reached, failed := c.awaitReached(ctx, c.sockets(), until)
	return len(failed) == 0 && len(reached) == len(c.Inbound)
}

// awaitReached asks peers until they reach all ports again that are still open, or until the time
// is over. Then it returns the other ports that a peer no longer reaches.
func (c *Comparison) awaitReached(
	ctx context.Context, r kernel, until time.Time,
) (reached []string, failed Failures) {
	if least := time.Now().Add(c.Window / 3); until.Before(least) {
		until = least
	}
	peers := slices.Concat(slices.Collect(maps.Values(c.Inbound))...)
	slices.Sort(peers)
	peers = slices.Compact(peers)
	for {
		want, ports := c.stillOpen(listening(r))
		if len(want) == 0 {
			return nil, nil
		}
		try, stop := context.WithTimeoutCause(ctx, knockNext, ErrNoAnswer)
		said, err := c.Knock(try, ports, peers, func(said map[string][]string) bool {
			reached, _ := c.compare(want, said)
			return len(reached) == len(want)
		})
		stop()
		if err == nil {
			if reached, failed = c.compare(want, said); len(reached) == len(want) {
				return reached, nil
			}
		}
		if !time.Now().Before(until) || ctx.Err() != nil {
			return reached, failed
		}
		host.Sleep(ctx, probePause)
	}
}

// stillOpen returns the ports that peers reached before and on which a program still listens, and
// their numbers. A port whose program has ended says nothing about the network.
func (c *Comparison) stillOpen(listening []uint16) (want []string, ports []uint16) {
	for _, port := range slices.Sorted(maps.Keys(c.Inbound)) {
		_, text, _ := strings.Cut(port, ":")
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil || !slices.Contains(listening, uint16(number)) {
			continue
		}
		want = append(want, port)
		if !slices.Contains(ports, uint16(number)) {
			ports = append(ports, uint16(number))
		}
	}
	return want, ports
}

// compare compares the answers of peers with those before the change.
func (c *Comparison) compare(want []string, said map[string][]string) (reached []string, failed Failures) {
	for _, port := range want {
		var missing []string
		found := false
		for peer, open := range said {
			switch {
			case slices.Contains(open, port):
				found = true
			case slices.Contains(c.Inbound[port], peer):
				missing = append(missing, peer)
			}
		}
		slices.Sort(missing)
		switch {
		case found:
			reached = append(reached, port)
		case len(missing) > 0:
			err := fmt.Errorf("%w: %s", errUnreached, strings.Join(missing, ", "))
			failed = append(failed, FailedProbe{inboundOf(port), err})
		}
	}
	return reached, failed
}

var errUnreached = errors.New("no connection any more from")

// mostPorts is the maximum number of ports in a question. firstPorts come first, because people
// repair and monitor a node through them.
const mostPorts = 16

var firstPorts = []uint16{22, 10250}

// kernel reads the listening ports from the kernel.
type kernel struct {
	read   func(path string) ([]byte, error)
	sysctl func(key string) (string, error)
}

// sockets returns the kernel of the node.
func (c *Comparison) sockets() kernel {
	return kernel{c.Node.Host.Live.Files.ReadFile, c.Node.Host.Live.Kernel.Sysctl}
}

// listening returns the TCP ports on which a program listens for other hosts. It leaves out
// ephemeral ports, because the program gets another one after its next start.
func listening(r kernel) (ports []uint16) {
	low, high := uint16(32768), uint16(60999)
	if text, err := r.sysctl("net.ipv4.ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(text, &low, &high)
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := r.read(file)
		if err != nil {
			continue // a kernel without IPv6
		}
		for line := range strings.Lines(string(text)) {
			at, ok := listens(line)
			port := at.Port()
			if ok && !at.Addr().IsLoopback() && (port < low || port > high) && !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	place := func(port uint16) int {
		if i := slices.Index(firstPorts, port); i >= 0 {
			return i
		}
		return len(firstPorts)
	}
	slices.SortStableFunc(ports, func(a, b uint16) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
	return ports[:min(len(ports), mostPorts)]
}

// listens parses a line of /proc/net/tcp, and returns the address of a listening socket. The
// address is in 32-bit words of the machine's byte order.
// https://docs.kernel.org/networking/proc_net_tcp.html
func listens(line string) (at netip.AddrPort, ok bool) {
	const state, word = "0A", 8
	fields := strings.Fields(line)
	if len(fields) < 4 || fields[3] != state {
		return at, false
	}
	address, port, _ := strings.Cut(fields[1], ":")
	number, err := strconv.ParseUint(port, 16, 16)
	var raw []byte
	for err == nil && len(address) >= word {
		var part uint64
		part, err = strconv.ParseUint(address[:word], 16, 32)
		raw, address = binary.NativeEndian.AppendUint32(raw, uint32(part)), address[word:]
	}
	addr, ok := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number)), ok && err == nil
}
