package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// The first bytes of a datagram. An endpoint does not answer answers, so that two endpoints cannot
// answer each other for ever.
var (
	probeRequest = []byte("netwright asks: ")
	probeAnswers = []byte("netwright says: ")
)

// pathTries is how often one size is tried, with [Pause] between.
const pathTries = 3

// ladder are typical packet sizes of links and tunnels. They show how large the packets are that a
// path passes when it drops larger ones.
var ladder = []int{9001, 8951, 8500, 1500, 1480, 1460, 1450, 1440, 1430, 1420, 1400, 1376, 1350, 1300, 1280, 1000, 576}

// Carried is the result of [Path].
type Carried struct {
	MTU       int   // the kernel's MTU of the path, with IP and UDP headers
	Takes     int   // the largest packet that was answered
	RouterMTU int   // the MTU that a router reported; 0: none
	Above     error // the error of a packet one byte larger
}

// Path sends datagrams without fragmentation to an endpoint, which answers each with a datagram of
// the same size: one as large as the path's MTU, and one that is a byte larger. An error says that
// not even a small one was answered.
func Path(ctx context.Context, netns string, to netip.AddrPort) (p Carried, err error) {
	var c *net.UDPConn
	err = rtnl.InNetNS(netns, func() error {
		conn, err := (&net.Dialer{Control: Whole(to.Addr())}).DialContext(ctx, "udp", to.String())
		if err == nil {
			c = conn.(*net.UDPConn)
		}
		return err
	})
	if err != nil {
		return p, fmt.Errorf("open a socket for UDP: %w", err)
	}
	defer c.Close()
	headers := 28 // of IPv4 and UDP
	if to.Addr().Is6() {
		headers = 48
	}
	if p.MTU, err = pathMTU(c, to.Addr()); err != nil {
		return p, err
	}
	if answered, err := exchange(ctx, c, 64); !answered {
		return p, fmt.Errorf("small datagrams to %s: %w", to, errors.Join(ErrNoAnswer, err))
	}
	answered, err := exchange(ctx, c, p.MTU-headers)
	switch {
	case answered:
		p.Takes = p.MTU
	case errors.Is(err, unix.EMSGSIZE): // a router on the path reported it
		if p.RouterMTU, err = pathMTU(c, to.Addr()); err != nil {
			return p, err
		}
		p.Takes = p.RouterMTU
		return p, nil
	default:
		p.Takes = climb(ctx, c, p.MTU, headers)
		return p, nil
	}
	_, p.Above = c.Write(datagram(probeRequest, p.MTU-headers+1))
	return p, nil
}

// exchange sends datagrams of one size until one is answered.
func exchange(ctx context.Context, c *net.UDPConn, size int) (bool, error) {
	var said error
	buf := make([]byte, 1<<16)
	for range pathTries {
		if _, err := c.Write(datagram(probeRequest, size)); errors.Is(err, unix.EMSGSIZE) {
			return false, err
		} else if err != nil {
			said = err
		}
		_ = c.SetReadDeadline(time.Now().Add(Pause))
		for ctx.Err() == nil {
			n, err := c.Read(buf)
			if err != nil {
				break
			}
			if n == size && bytes.HasPrefix(buf, probeAnswers) {
				return true, nil
			}
		}
	}
	return false, said
}

// climb returns the largest size of [ladder] below limit that is answered. It sends all sizes at
// once.
func climb(ctx context.Context, c *net.UDPConn, limit, headers int) (most int) {
	buf := make([]byte, 1<<16)
	for range pathTries {
		for _, size := range slices.Backward(ladder) {
			if size < limit && size > most {
				_, _ = c.Write(datagram(probeRequest, size-headers)) // some are too large
			}
		}
		_ = c.SetReadDeadline(time.Now().Add(Pause))
		for ctx.Err() == nil {
			n, err := c.Read(buf)
			if err != nil {
				break
			}
			most = max(most, n+headers)
		}
	}
	return most
}

// Echo answers requests until its socket is closed.
func Echo(p net.PacketConn) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := p.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && bytes.HasPrefix(buf[:n], probeRequest) {
			_, _ = p.WriteTo(datagram(probeAnswers, n), from) // the requester notices a lost answer
		}
	}
}

func datagram(begin []byte, size int) []byte {
	out := make([]byte, max(size, len(begin)))
	copy(out, begin)
	return out
}

// Whole makes a socket send packets without fragmentation (ip(7), IP_MTU_DISCOVER).
func Whole(to netip.Addr) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		set := func(fd uintptr) {
			if to.Is6() {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_DO)
			} else {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO)
			}
		}
		failed := c.Control(set)
		return errors.Join(failed, err)
	}
}

// pathMTU returns the kernel's MTU of a connected socket's path.
func pathMTU(c *net.UDPConn, to netip.Addr) (mtu int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("read the path's MTU: %w", err)
	}
	get := func(fd uintptr) {
		if to.Is6() {
			mtu, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_MTU)
		} else {
			mtu, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU)
		}
	}
	failed := raw.Control(get)
	if failed = errors.Join(failed, err); failed != nil {
		return 0, fmt.Errorf("read the path's MTU: %w", failed)
	}
	return mtu, nil
}
