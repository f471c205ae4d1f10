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

// What a datagram of ours begins with: answers are not answered, so that two endpoints cannot keep
// each other busy.
var (
	probeRequest = []byte("netwright asks: ")
	probeAnswers = []byte("netwright says: ")
)

// Tries of one size, each of [Pause].
const pathTries = 3

// ladder are sizes of packets that links and tunnels are known to take, for saying how far a path
// that swallows the larger ones goes.
var ladder = []int{9001, 8951, 8500, 1500, 1480, 1460, 1450, 1440, 1430, 1420, 1400, 1376, 1350, 1300, 1280, 1000, 576}

// Carried is what [Path] found of a path.
type Carried struct {
	MTU       int   // that the kernel has for the path, with the headers of IP and UDP
	Takes     int   // the largest packet that was answered
	RouterMTU int   // the MTU that a router reported meanwhile; 0: none
	Above     error // what sending one byte more says
}

// Path sends datagrams that must not be fragmented to an endpoint, which answers each with one
// as long: as large as the path's MTU, and one byte larger. An error says that not even a small one
// was answered.
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
	case errors.Is(err, unix.EMSGSIZE): // a router on the way reported it
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

// exchange sends datagrams of a size until one is answered.
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

// climb is the largest packet below limit that is answered, of [ladder]: all are sent at once.
func climb(ctx context.Context, c *net.UDPConn, limit, headers int) (most int) {
	buf := make([]byte, 1<<16)
	for range pathTries {
		for _, size := range slices.Backward(ladder) {
			if size < limit && size > most {
				_, _ = c.Write(datagram(probeRequest, size-headers)) // too large is what is looked for
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

// Echo answers what asks until its socket is closed.
func Echo(p net.PacketConn) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := p.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && bytes.HasPrefix(buf[:n], probeRequest) {
			_, _ = p.WriteTo(datagram(probeAnswers, n), from) // what is too large for the way back is missed there
		}
	}
}

func datagram(begin []byte, size int) []byte {
	out := make([]byte, max(size, len(begin)))
	copy(out, begin)
	return out
}

// Whole makes a socket send nothing in fragments (ip(7), IP_MTU_DISCOVER).
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

// pathMTU is what the kernel takes for the MTU of a connected socket's path.
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
