package probe

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// largestPacket is the largest length of an IP packet: 16 bits.
const largestPacket = 1<<16 - 1

// inOnePiece makes a socket send packets without fragmentation, whatever MTU the kernel has cached
// for the path (ip(7), ipv6(7)).
func inOnePiece(conn *net.IPConn, six bool) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	options := [][3]int{{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE}}
	if six {
		options = [][3]int{
			{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
			{unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1},
		}
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		for _, o := range options {
			if failed == nil {
				failed = unix.SetsockoptInt(int(fd), o[0], o[1], o[2])
			}
		}
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("send packets in one piece: %w", err)
	}
	return nil
}
