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

// That others reach the node, only others can say. Peers knock on its ports before the change and
// after it. Of each port that one of them reached, one of those must reach it after the change; who
// says nothing, for he is gone or in the middle of a change of his own, says nothing of it.

// Knocks has peers knock on TCP ports of this node, and returns which of them each one reaches, as
// "tcp4:22", by the names of those who answered before the context ended or done said that it is
// enough. Without names it finds peers. It may be called again. An error says what is to be mended
// so that peers can be asked.
type Knocks func(
	ctx context.Context, ports []uint16, peers []string, done func(said map[string][]string) bool,
) (map[string][]string, error)

// Times of the proof.
const (
	knockBefore = 5 * time.Second        // for peers to answer before the change,
	knockGrace  = 500 * time.Millisecond // and for the others once one has
	knockNext   = 5 * time.Second        // for one attempt after it
)

// inboundOf is the probe of a port.
func inboundOf(port string) Probe { return Probe(inboundProbe + ":" + port) }

// inbound says that peers do not reach the node any more.
func (f Failures) inbound() bool {
	return slices.ContainsFunc(f, func(one FailedProbe) bool { return one.Probe.kind() == inboundProbe })
}

// findReached has peers knock before the change. It goes on beside the other probes; what it
// returns waits for the answers.
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

// reachedBy turns what peers say round: the peers by the port.
func reachedBy(said map[string][]string) map[string][]string {
	by := map[string][]string{}
	for _, peer := range slices.Sorted(maps.Keys(said)) {
		for _, port := range said[peer] {
			by[port] = append(by[port], peer)
		}
	}
	return by
}

// stillReached has the same peers knock after the change, until then or a third of the window. What
// nobody has said by then is taken off the proof.
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

// reachedAgain says that every port is reached after the undo that peers missed after the change.
func (c *Comparison) reachedAgain(ctx context.Context, until time.Time) bool {
	reached, failed := c.awaitReached(ctx, c.sockets(), until)
	return len(failed) == 0 && len(reached) == len(c.Inbound)
}

// awaitReached has peers knock until all ports are reached again on which somebody still listens,
// or time is over: then it says of which of the others a peer misses what it had.
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

// stillOpen are those that peers reached before and on which somebody listens now, and the numbers
// of these ports: that a program has ended says nothing of the way to it.
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

// compare holds what peers say to what they said before.
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

// mostPorts are asked for, first those by which a node is mended and watched.
const mostPorts = 16

var firstPorts = []uint16{22, 10250}

// kernel is what says which ports there are.
type kernel struct {
	read   func(path string) ([]byte, error)
	sysctl func(key string) (string, error)
}

// sockets are those of the node.
func (c *Comparison) sockets() kernel {
	return kernel{c.Node.Host.Live.Files.ReadFile, c.Node.Host.Live.Kernel.Sysctl}
}

// listening are the TCP ports on which somebody listens for others, without those that the kernel
// gives out: the next time it is another one.
func listening(r kernel) (ports []uint16) {
	low, high := uint16(32768), uint16(60999)
	if text, err := r.sysctl("net.ipv4.ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(text, &low, &high)
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := r.read(file)
		if err != nil {
			continue // without IPv6
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

// listens reads a line of /proc/net/tcp: where a socket listens. The address is in words of the
// machine's own order. https://docs.kernel.org/networking/proc_net_tcp.html
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
