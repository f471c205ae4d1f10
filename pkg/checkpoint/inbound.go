package checkpoint

import (
	"bufio"
	"bytes"
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
	"github.com/netwright/netwright/pkg/host/hostfs"
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
	knockAfter  = 5 * time.Second        // for one attempt after it
)

// inboundOf is the probe of a port.
func inboundOf(port string) Probe { return Probe(inboundProbe + ":" + port) }

// inbound says that peers do not reach the node any more.
func (f failures) inbound() bool {
	return slices.ContainsFunc(f, func(one failure) bool { return one.probe.kind() == inboundProbe })
}

// findReached has peers knock before the change. It goes on beside the other probes; what it
// returns waits for the answers.
func (j *Journal) findReached(ctx context.Context, r kernel, s Settings) (wait func()) {
	ports := listening(r)
	if s.Inbound == nil || len(ports) == 0 {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, stop := context.WithTimeoutCause(ctx, knockBefore, errNoAnswer)
		defer stop()
		grace := time.AfterFunc(knockBefore, stop)
		defer grace.Stop()
		said, err := s.Inbound(ctx, ports, nil, func(map[string][]string) bool {
			grace.Reset(knockGrace)
			return false
		})
		j.Inbound, j.unasked = reachedBy(said), err
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

// keepsReached has the same peers knock after the change, until then or a third of the window. What
// nobody has said by then is taken off the proof.
func (c *Checkpoint) keepsReached(ctx context.Context, until time.Time) failures {
	j := c.journal
	if len(j.Inbound) == 0 {
		return nil
	}
	reached, failed := j.holdReached(ctx, kernel{c.host.Live.Files, c.host.Live.Kernel}, c.settings.Inbound, until)
	if len(failed) == 0 {
		maps.DeleteFunc(j.Inbound, func(port string, _ []string) bool { return !slices.Contains(reached, port) })
	}
	return failed
}

// reachedAgain says that every port is reached after the undo that peers missed after the change.
func (j *Journal) reachedAgain(ctx context.Context, r kernel, knock Knocks, until time.Time) bool {
	reached, failed := j.holdReached(ctx, r, knock, until)
	return len(failed) == 0 && len(reached) == len(j.Inbound)
}

// holdReached has peers knock until all ports are reached again on which somebody still listens, or
// time is over: then it says of which of the others a peer misses what it had.
func (j *Journal) holdReached(
	ctx context.Context, r kernel, knock Knocks, until time.Time,
) (reached []string, failed failures) {
	if least := time.Now().Add(j.Window / 3); until.Before(least) {
		until = least
	}
	var peers []string
	for _, list := range j.Inbound {
		peers = append(peers, list...)
	}
	slices.Sort(peers)
	peers = slices.Compact(peers)
	for {
		want, ports := j.stillOpen(listening(r))
		if len(want) == 0 {
			return nil, nil
		}
		try, stop := context.WithTimeoutCause(ctx, knockAfter, errNoAnswer)
		said, err := knock(try, ports, peers, func(said map[string][]string) bool {
			reached, _ := j.compare(want, said)
			return len(reached) == len(want)
		})
		stop()
		if err == nil {
			if reached, failed = j.compare(want, said); len(reached) == len(want) {
				return reached, nil
			}
		}
		if !time.Now().Before(until) || ctx.Err() != nil {
			return reached, failed
		}
		select {
		case <-ctx.Done():
		case <-time.After(probePause):
		}
	}
}

// stillOpen are those that peers reached before and on which somebody listens now, and the numbers
// of these ports: that a program has ended says nothing of the way to it.
func (j *Journal) stillOpen(listening []uint16) (want []string, ports []uint16) {
	for _, port := range slices.Sorted(maps.Keys(j.Inbound)) {
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
func (j *Journal) compare(want []string, said map[string][]string) (reached []string, failed failures) {
	for _, port := range want {
		var missing []string
		found := false
		for peer, open := range said {
			switch {
			case slices.Contains(open, port):
				found = true
			case slices.Contains(j.Inbound[port], peer):
				missing = append(missing, peer)
			}
		}
		slices.Sort(missing)
		switch {
		case found:
			reached = append(reached, port)
		case len(missing) > 0:
			err := fmt.Errorf("%w: %s", errUnreached, strings.Join(missing, ", "))
			failed = append(failed, failure{inboundOf(port), err})
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
	proc    Reader
	sysctls interface {
		Sysctl(key string) (string, error)
	}
}

// listening are the TCP ports on which somebody listens for others, without those that the kernel
// gives out: the next time it is another one.
func listening(r kernel) (ports []uint16) {
	low, high := uint16(32768), uint16(60999)
	if text, err := r.sysctls.Sysctl("net.ipv4.ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(text, &low, &high)
	}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := r.proc.ReadFile(file)
		if err != nil {
			continue // without IPv6
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			at, ok := listens(lines.Text())
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
	slices.SortFunc(ports, func(a, b uint16) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
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

// UnderWay says that a change of this node is under way, or awaits its confirmation.
func UnderWay(r interface {
	Lstat(path string) (hostfs.FileInfo, error)
}) bool {
	_, err := r.Lstat(JournalFile)
	return !errors.Is(err, host.ErrNotExist)
}
