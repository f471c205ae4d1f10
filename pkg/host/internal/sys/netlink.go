package sys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Netlink requests lists from the kernel. Libraries allocate a new buffer for each part of an
// answer, and all attributes of all objects; on a node full of pods these are most of a pass'
// allocations. Netlink has one buffer, and passes on the bytes of each object, which are valid
// until the next. The size of the buffer also tells the kernel how large a part may be. It has its
// own socket with strict checks: the kernel then sends only what was requested, such as one table
// of routes (NETLINK_GET_STRICT_CHK, since Linux 4.20).
type Netlink struct {
	Protocol int           // NETLINK_ROUTE …
	Timeout  time.Duration // limit for an answer; 0: none, the kernel answers at once

	mu   sync.Mutex
	fd   int
	open bool
	seq  uint32
	buf  []byte
}

// partSize is larger than any part that the kernel sends (net/netlink/af_netlink.c, netlink_dump).
const partSize = 32 << 10

// List sends a request of type get, and calls each with the body of each answer of type kind. flags
// are NLM_F_DUMP for a list, NLM_F_ACK for one object. If the list changed while it was sent, List
// returns [netlink.ErrDumpInterrupted], after each has got all of it.
func (l *Netlink) List(get, kind, flags uint16, ask []byte, each func(body []byte)) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.opened(); err != nil { // an error closes the socket
		return err
	}
	defer func() {
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			l.close() // drops the rest of the answer
		}
	}()
	l.seq++
	if err := unix.Sendto(l.fd, Message(get, flags|unix.NLM_F_REQUEST, l.seq, ask), 0,
		&unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	interrupted := false
	for {
		part, err := l.receive()
		if err != nil {
			return err
		}
		for len(part) > 0 {
			head, body, rest, err := split(part)
			if err != nil {
				return err
			}
			part = rest
			if head.Seq != l.seq {
				continue
			}
			interrupted = interrupted || head.Flags&unix.NLM_F_DUMP_INTR != 0
			switch head.Type {
			case kind:
				each(body)
			case unix.NLMSG_DONE, unix.NLMSG_ERROR:
				if len(body) >= 4 {
					if code := int32(binary.NativeEndian.Uint32(body)); code != 0 {
						return unix.Errno(-code)
					}
				}
				if interrupted {
					return netlink.ErrDumpInterrupted
				}
				return nil
			}
		}
	}
}

// Connect opens the socket in the network namespace of the calling thread.
func (l *Netlink) Connect() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened()
}

// opened is Connect for a caller that holds the lock.
func (l *Netlink) opened() error {
	if l.open {
		return nil
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, l.Protocol)
	if err != nil {
		return fmt.Errorf("open netlink: %w", err)
	}
	if l.Timeout > 0 {
		within := unix.NsecToTimeval(l.Timeout.Nanoseconds())
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &within); err != nil {
			return errors.Join(fmt.Errorf("bound netlink: %w", err), unix.Close(fd))
		}
	}
	// An older kernel does not support this option, and sends more than was requested.
	_ = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1)
	l.fd, l.open = fd, true
	return nil
}

// Close closes the socket. The next List opens it again.
func (l *Netlink) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
}

func (l *Netlink) close() {
	if l.open {
		_ = unix.Close(l.fd) // nothing was written
		l.open = false
	}
}

// receive reads the next part of an answer.
func (l *Netlink) receive() ([]byte, error) {
	if l.buf == nil {
		l.buf = make([]byte, partSize)
	}
	for {
		n, from, err := unix.Recvfrom(l.fd, l.buf, unix.MSG_TRUNC)
		kernel, _ := from.(*unix.SockaddrNetlink)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return nil, fmt.Errorf("no answer within %s: %w", l.Timeout, err)
		case err != nil:
			return nil, err
		case n > len(l.buf): // the part is lost; the next try has a larger buffer
			l.buf = make([]byte, n)
			l.close()
			return nil, netlink.ErrDumpInterrupted
		case kernel == nil || kernel.Pid != 0:
			continue // not from the kernel: any process may send to the socket
		}
		return l.buf[:n], nil
	}
}

// Message returns a netlink message.
func Message(kind, flags uint16, seq uint32, body []byte) []byte {
	m := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	m = binary.NativeEndian.AppendUint16(m, kind)
	m = binary.NativeEndian.AppendUint16(m, flags)
	m = binary.NativeEndian.AppendUint32(m, seq)
	m = binary.NativeEndian.AppendUint32(m, 0)
	return append(m, body...)
}

// split splits the first message off a part of an answer.
func split(part []byte) (head unix.NlMsghdr, body, rest []byte, err error) {
	if len(part) >= unix.SizeofNlMsghdr {
		head = unix.NlMsghdr{Len: binary.NativeEndian.Uint32(part), Type: binary.NativeEndian.Uint16(part[4:]),
			Flags: binary.NativeEndian.Uint16(part[6:]), Seq: binary.NativeEndian.Uint32(part[8:])}
	}
	if head.Len < unix.SizeofNlMsghdr || uint64(head.Len) > uint64(len(part)) {
		return head, nil, nil, errors.New("read netlink's answer: it is cut short")
	}
	next := min((uint64(head.Len)+3)&^3, uint64(len(part)))
	return head, part[unix.SizeofNlMsghdr:head.Len], part[next:], nil
}
