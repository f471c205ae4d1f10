package watch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"

	"golang.org/x/sys/unix"
)

// multicast is a source that reads multicast groups of a netlink protocol. filter drops messages in
// the kernel (nil: none). received gets the bytes of each read; lost is called when the kernel had
// to drop messages. One goroutine calls both, and ends with [listener.close].
type multicast struct {
	listener
	protocol int
	groups   []int
	filter   []unix.SockFilter
	received func([]byte)
	lost     func()
}

const (
	// multicastRoom is the kernel's buffer for unread messages. It is enough for many link events
	// at once while a busy machine delays the reader.
	multicastRoom = 4 << 20
	// multicastMessage is larger than any single read, because the kernel limits the parts of a
	// dump (net/netlink/af_netlink.c, netlink_dump).
	multicastMessage = 32 << 10
)

// listen opens the socket and starts the reader.
func (m *multicast) listen() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, m.protocol)
	if err != nil {
		return fmt.Errorf("open netlink protocol %d: %w", m.protocol, err)
	}
	file := os.NewFile(uintptr(fd), "netlink")
	if err := join(fd, m.groups, m.filter); err != nil {
		return errors.Join(fmt.Errorf("listen to netlink protocol %d: %w", m.protocol, err), file.Close())
	}
	m.file = file
	m.done.Go(func() {
		whole := func(b []byte) {
			if len(b) == multicastMessage { // the message is cut short
				m.lost()
				return
			}
			m.received(b)
		}
		dropped := func(err error) bool {
			if errors.Is(err, unix.ENOBUFS) {
				m.lost()
				return true
			}
			return false
		}
		if err := readEvents(file, multicastMessage, whole, dropped); err != nil {
			m.w.lose(m.source, err)
		}
	})
	return nil
}

func join(fd int, groups []int, filter []unix.SockFilter) error {
	if filter != nil {
		if err := attach(fd, filter); err != nil {
			return err
		}
	}
	// SO_RCVBUFFORCE needs root in the initial user namespace.
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, multicastRoom) != nil {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, multicastRoom); err != nil {
			return err
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for _, group := range groups {
		if err := unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group); err != nil {
			return err
		}
	}
	return nil
}

// attach has the kernel drop the messages that a filter does not accept. It replaces an earlier
// filter.
func attach(fd int, filter []unix.SockFilter) error {
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
}

// messages iterates over the netlink messages of one read: their types and bodies.
func messages(b []byte) iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for len(b) >= unix.NLMSG_HDRLEN {
			size := int(binary.NativeEndian.Uint32(b))
			if size < unix.NLMSG_HDRLEN || size > len(b) ||
				!yield(binary.NativeEndian.Uint16(b[4:]), b[unix.NLMSG_HDRLEN:size]) {
				return
			}
			b = b[min(len(b), (size+3)&^3):]
		}
	}
}
