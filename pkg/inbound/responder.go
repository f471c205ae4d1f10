package inbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Responder connects to ports for the nodes in [Static.Answer] while the daemon runs. It does not
// answer a sender without the key, and never sends more bytes than it received.
type Responder struct {
	Static
	Busy func() bool // reports whether this node makes a change
	Log  *zap.Logger

	knocking chan struct{} // has one place for each node that is answered at once
	mu       sync.Mutex
	last     map[netip.Addr]answered
}

// answered is the last question of a node.
type answered struct {
	question datagramQuestion
	at       time.Time
	datagram []byte // the answer; nil until it is made
}

// maxAnswered is the maximum number of nodes in Responder.last.
const maxAnswered = 1024

// Run answers until ctx ends. If it cannot listen, it logs a warning, and tries again after pauses
// that become longer.
func (r *Responder) Run(ctx context.Context) {
	r.knocking, r.last = make(chan struct{}, maxAskers), map[netip.Addr]answered{}
	for failures := 1; ctx.Err() == nil; failures++ {
		if err := r.serve(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("stated peers are not answered", zap.Error(err))
			wait(ctx, later(failures))
		}
	}
}

// serve answers questions until ctx ends. A peer sends at most one question a second, and repeats
// it.
func (r *Responder) serve(ctx context.Context) error {
	if _, err := r.key(); err != nil {
		return err
	}
	var listen net.ListenConfig
	socket, err := listen.ListenPacket(ctx, "udp", fmt.Sprintf(":%d", r.Port))
	if err != nil {
		return err
	}
	conn := socket.(*net.UDPConn)
	var all sync.WaitGroup
	defer all.Wait()
	defer conn.Close() // nothing is buffered
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if err := requestTarget(conn); err != nil {
		return err
	}
	for datagram, oob := make([]byte, questionSize+1), make([]byte, 128); ; {
		n, extra, _, from, err := conn.ReadMsgUDPAddrPort(datagram, oob)
		if err != nil {
			return err
		}
		asker := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		known := func(p netip.Prefix) bool { return p.Contains(asker.Addr()) }
		if n != questionSize || !slices.ContainsFunc(r.Answer, known) {
			continue
		}
		key, err := r.key()
		if err != nil {
			return err
		}
		q, ok := openQuestion(key, asker.Addr(), datagram[:n])
		if !ok {
			continue
		}
		target := slices.Clone(oob[:extra]) // the answer must come from the address that was asked
		tell := func(answer []byte) { _, _, _ = conn.WriteMsgUDPAddrPort(answer, target, from) }
		r.take(&all, q, asker.Addr(), tell, func() []byte {
			return q.answered(key, asker.Addr(), answerTo(ctx, "", r.Busy, []netip.Addr{asker.Addr()}, q.ports))
		})
	}
}

// take answers a question. It sends the same answer to a repeated question, and answers a new
// question of a node after a second at the earliest. A node repeats a question that take ignores.
func (r *Responder) take(
	all *sync.WaitGroup, q datagramQuestion, asker netip.Addr, tell func([]byte), answer func() []byte,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[asker]
	if last.question.nonce == q.nonce && last.datagram != nil {
		tell(last.datagram)
		return
	}
	now := time.Now()
	if now.Sub(last.at) < knockEach || !r.room(now) {
		return
	}
	select {
	case r.knocking <- struct{}{}:
	default:
		return
	}
	r.last[asker] = answered{question: q, at: now}
	all.Go(func() {
		defer func() { <-r.knocking }()
		datagram := answer()
		tell(datagram)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last[asker] = answered{q, now, datagram}
	})
}

// room reports whether Responder.last has room for another node. It removes nodes that have not
// asked for a minute.
func (r *Responder) room(now time.Time) bool {
	if len(r.last) >= maxAnswered {
		for asker, a := range r.last {
			if now.Sub(a.at) > time.Minute {
				delete(r.last, asker)
			}
		}
	}
	return len(r.last) < maxAnswered
}

// requestTarget makes a socket report the local address of each datagram, in a form that it accepts
// for the answer.
// https://man7.org/linux/man-pages/man7/ip.7.html (IP_PKTINFO)
func requestTarget(conn *net.UDPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
		if set != nil { // a host without IPv6
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
		}
	})
	if err == nil {
		err = set
	}
	return err
}
