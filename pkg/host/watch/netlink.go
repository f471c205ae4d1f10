package watch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"sync"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// multicast is a source that hears what the kernel tells everybody, by groups of a netlink
// protocol, as far as filter (nil: all) lets it through. received gets the bytes of each read, lost
// is told that the kernel had to drop some. Both are called on one goroutine, which ends with
// [multicast.close].
type multicast struct {
	w        *Watcher
	source   Source
	protocol int
	groups   []int
	filter   []bpf.Instruction
	received func([]byte)
	lost     func()

	file *os.File // nil: it does not listen
	done sync.WaitGroup
}

const (
	// multicastRoom is what the kernel keeps of events that are not read yet. It takes a storm of
	// links within the time that a busy machine lets us wait.
	multicastRoom = 4 << 20
	// multicastMessage is more than any single read brings: what a dump is cut to
	// (net/netlink/af_netlink.c, netlink_dump).
	multicastMessage = 32 << 10
)

func (m *multicast) name() Source { return m.source }

// ended says that it does not listen. What has ended by itself is closed: it has nothing to tell.
func (m *multicast) ended() bool {
	if m.file != nil && !m.w.isUnwatched(m.source) {
		return false
	}
	_ = m.close()
	return true
}

// listen begins to listen.
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
			if len(b) == multicastMessage { // cut short
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

func join(fd int, groups []int, filter []bpf.Instruction) error {
	if filter != nil {
		raw, err := bpf.Assemble(filter)
		if err != nil {
			return err
		}
		code := make([]unix.SockFilter, len(raw))
		for i, r := range raw {
			code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
		}
		if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}); err != nil {
			return err
		}
	}
	// not root of the first user namespace
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

// close ends the reading and waits for its end.
func (m *multicast) close() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.done.Wait()
	m.file = nil
	return err
}

// messages are the netlink messages in what one read brought: their types and what follows their
// headers.
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
