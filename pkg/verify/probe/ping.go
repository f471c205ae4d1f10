// Package probe asks over the network, from any network namespace: by an echo, of a name server, by
// a connection, and what size a path takes. ICMP is done here, so that a node needs no ping.
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

// The time-outs of [Ping].
const (
	Pause     = 300 * time.Millisecond // before the next echo is sent
	pingTotal = 5 * time.Second        // unless the context ends before
)

// Timeout is how long one question may take: a lost first packet is sent again after one
// second.
const Timeout = 3 * time.Second

// ErrNoAnswer says that no echo was answered in time.
var ErrNoAnswer = errors.New("no answer")

// Ping sends ICMP echoes from a network namespace (a file that stands for it;
// "" is the one that we are in) until one is answered, and returns how long
// that answer took. Several are sent because the first may be lost while
// neighbours are looked up. It gives up when ctx ends, or after 5 s, with
// [ErrNoAnswer] and what routers on the way said. It needs CAP_NET_RAW and, for
// another namespace, CAP_SYS_ADMIN.
//
// With a size the packets have that many bytes, headers and all, of a link's MTU as a rule, and
// nobody on the way breaks them up: a checkpoint asks neighbours so. 0 is any size.
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
			host.Sleep(ctx, Pause) // no route yet, or a neighbour that is being looked up
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
	said         error // why, as far as anybody reported
}

// one sends an echo and reads until its answer comes.
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
	if ctx.Err() != nil { // it may have ended before the deadline was set
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

// mine says that a packet which a router sends back was our echo: its IP header, then at least 8
// bytes.
func (p *pinger) mine(packet []byte) bool {
	header := 40
	if p.to.Is4() && len(packet) > 0 {
		header = int(packet[0]&0xf) * 4
	}
	return len(packet) >= header+6 && int(binary.BigEndian.Uint16(packet[header+4:])) == p.id
}
