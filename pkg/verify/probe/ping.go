// Package probe sends queries over the network, from any network namespace: ICMP echoes, DNS
// queries, TCP connections, and datagrams that show the MTU of a path. It implements ICMP itself,
// so a node needs no ping.
package probe

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// The times of [Ping].
const (
	Pause     = 300 * time.Millisecond // before the next echo is sent
	pingTotal = 5 * time.Second        // unless the context ends before
)

// Timeout is the time limit of one query. The kernel sends a lost first packet again after one
// second.
const Timeout = 3 * time.Second

// ErrNoAnswer says that no answer came in time.
var ErrNoAnswer = errors.New("no answer")

// Ping sends ICMP echoes from a network namespace until one is answered, and returns the time of
// that answer. netns is a file of the namespace; "" is the current one. Ping sends several echoes
// because the first may be lost while the kernel resolves neighbours. It gives up when ctx ends, or
// after 5 s, with [ErrNoAnswer] and the errors of routers on the path. It needs CAP_NET_RAW and,
// for another namespace, CAP_SYS_ADMIN.
//
// With a size, the packets have that many bytes including headers, and are not fragmented. A
// checkpoint uses it to ask neighbours with packets of a link's MTU. 0 means any size.
func Ping(ctx context.Context, netns string, to netip.Addr, size int) (time.Duration, error) {
	caller := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, pingTotal, ErrNoAnswer)
	defer cancel()
	to = to.Unmap()
	p := pinger{to: to, network: "ip4:icmp", head: 20, protocol: 1, echo: ipv4.ICMPTypeEcho,
		reply: ipv4.ICMPTypeEchoReply}
	if to.Is6() {
		p = pinger{to: to, network: "ip6:ipv6-icmp", head: 40, protocol: 58, echo: ipv6.ICMPTypeEchoRequest,
			reply: ipv6.ICMPTypeEchoReply}
	}
	p.data = make([]byte, max(len("netwright"), min(size, largestPacket)-p.head-8))
	copy(p.data, "netwright")
	var id [2]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	p.id = int(binary.BigEndian.Uint16(id[:]))

	err := rtnl.InNetNS(netns, func() error {
		var err error
		if p.conn, err = net.ListenIP(p.network, nil); err == nil && size > 0 {
			err = inOnePiece(p.conn, to.Is6())
		}
		return err
	})
	if p.conn != nil {
		defer p.conn.Close()
	}
	if err != nil {
		return 0, fmt.Errorf("ping %s: open a socket for ICMP: %w", to, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	for seq := 1; ctx.Err() == nil; seq++ {
		took, err := p.one(ctx, seq)
		if err == nil {
			return took, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			p.said = err
			host.Sleep(ctx, Pause) // there is no route yet, or the neighbour is not resolved
		}
	}
	if errors.Is(caller.Err(), context.Canceled) {
		return 0, fmt.Errorf("ping %s: %w", to, context.Cause(caller))
	}
	if p.said != nil {
		return 0, fmt.Errorf("ping %s: %w: %w", to, ErrNoAnswer, p.said)
	}
	return 0, fmt.Errorf("ping %s: %w", to, ErrNoAnswer)
}

type pinger struct {
	conn         *net.IPConn
	to           netip.Addr
	network      string
	head         int // bytes of the IP header
	data         []byte
	protocol, id int
	echo, reply  icmp.Type
	said         error // the last reported error
}

// one sends one echo and waits for its answer.
func (p *pinger) one(ctx context.Context, seq int) (time.Duration, error) {
	out, err := (&icmp.Message{Type: p.echo, Body: &icmp.Echo{ID: p.id, Seq: seq, Data: p.data}}).Marshal(nil)
	if err != nil {
		return 0, fmt.Errorf("make an echo: %w", err)
	}
	sent := time.Now()
	if _, err := p.conn.WriteTo(out, &net.IPAddr{IP: p.to.AsSlice(), Zone: p.to.Zone()}); err != nil {
		return 0, err
	}
	if err := p.conn.SetReadDeadline(sent.Add(Pause)); err != nil {
		return 0, err
	}
	if ctx.Err() != nil { // ctx may have ended before the deadline was set
		return 0, os.ErrDeadlineExceeded
	}
	buf := make([]byte, max(1500, len(p.data)+p.head+8))
	for {
		n, from, err := p.conn.ReadFrom(buf)
		if err != nil {
			return 0, err
		}
		m, err := icmp.ParseMessage(p.protocol, buf[:n])
		if err != nil {
			continue
		}
		switch body := m.Body.(type) {
		case *icmp.Echo:
			if m.Type == p.reply && body.ID == p.id && body.Seq == seq {
				return time.Since(sent), nil
			}
		case *icmp.DstUnreach:
			if p.mine(body.Data) {
				p.said = fmt.Errorf("%s says: destination unreachable (code %d)", from, m.Code)
			}
		}
	}
}

// mine reports whether a packet that a router returns is this pinger's echo: its IP header, and at
// least 8 bytes.
func (p *pinger) mine(packet []byte) bool {
	header := 40
	if p.to.Is4() && len(packet) > 0 {
		header = int(packet[0]&0xf) * 4
	}
	return len(packet) >= header+6 && int(binary.BigEndian.Uint16(packet[header+4:])) == p.id
}
