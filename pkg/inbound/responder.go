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

// Responder knocks for the nodes that [Static.Answer] has, as long as the daemon runs. To whoever
// has not the key it says nothing, and to nobody more bytes than he sent.
type Responder struct {
	Static
	Busy func() bool // the node is in the middle of a change
	Log  *zap.Logger

	knocking chan struct{} // a place for each node that is knocked on now
	mu       sync.Mutex
	last     map[netip.Addr]answered
}

// answered is the question that a node asked last.
type answered struct {
	question datagramQuestion
	at       time.Time
	datagram []byte // the answer; nil: there is none yet
}

// maxAnswered is how many nodes are known to have asked.
const maxAnswered = 1024

// Run answers until ctx ends. Where it cannot listen it says so, and tries again ever more seldom.
func (r *Responder) Run(ctx context.Context) {
	r.knocking, r.last = make(chan struct{}, maxAskers), map[netip.Addr]answered{}
	for failures := 1; ctx.Err() == nil; failures++ {
		if err := r.serve(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("stated peers are not answered", zap.Error(err))
			wait(ctx, later(failures))
		}
	}
}

// serve answers what comes in until ctx ends. Peers send at most once a second, and ask again.
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
	defer conn.Close() // nothing is kept there
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
		target := slices.Clone(oob[:extra]) // the address that was asked is the one that answers
		tell := func(answer []byte) { _, _, _ = conn.WriteMsgUDPAddrPort(answer, target, from) }
		r.take(&all, q, asker.Addr(), tell, func() []byte {
			return q.answered(key, asker.Addr(), answerTo(ctx, "", r.Busy, []netip.Addr{asker.Addr()}, q.ports))
		})
	}
}

// take has a question answered: one that was answered already with the same words, another after a
// second only. Of what is not taken the node asks again.
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

// room says that one more node may be kept. Those go that asked a while ago.
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

// requestTarget has a socket say to which of the host's addresses a datagram came, in a form that
// it takes back for the answer. https://man7.org/linux/man-pages/man7/ip.7.html (IP_PKTINFO)
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
