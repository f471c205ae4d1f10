package witness

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/node"
)

// leases is a DHCP server (RFC 2131) on the link, which gives the node its address.
type leases struct {
	mu      sync.Mutex
	granted chan struct{} // the next grant closes and replaces it
}

// leaseTime is how long a lease is valid without a renewal, in seconds. The node renews it after
// half of that.
const leaseTime = 30

// serveLeases runs a DHCP server for the node on the fabric until the test ends.
func serveLeases(t testing.TB, f *node.Fabric) *leases {
	t.Helper()
	var conn net.PacketConn
	err := f.Do(func() (err error) {
		conn, err = (&net.ListenConfig{Control: toTheLink}).ListenPacket(t.Context(), "udp4", ":67")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	l := &leases{granted: make(chan struct{})}
	go l.serve(conn)
	return l
}

// toTheLink binds a socket to the fabric's link, and allows it to send broadcasts there.
func toTheLink(_, _ string, raw syscall.RawConn) (err error) {
	controlErr := raw.Control(func(fd uintptr) {
		err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1),
			unix.BindToDevice(int(fd), "br0"))
	})
	return errors.Join(controlErr, err)
}

// Await waits until the next lease is granted, or until a limit.
func (l *leases) Await(limit time.Duration) {
	l.mu.Lock()
	granted := l.granted
	l.mu.Unlock()
	select {
	case <-granted:
	case <-time.After(limit):
	}
}

func (l *leases) serve(conn net.PacketConn) {
	for asked := make([]byte, 1500); ; {
		n, from, err := conn.ReadFrom(asked)
		if err != nil {
			return
		}
		answer, grants := leaseFor(asked[:n])
		if answer == nil {
			continue
		}
		to := &net.UDPAddr{IP: net.IPv4bcast, Port: 68}
		if renewing, ok := from.(*net.UDPAddr); ok && !renewing.IP.IsUnspecified() {
			to.IP = renewing.IP
		}
		_, _ = conn.WriteTo(answer, to) // the client may be gone
		if grants {
			l.mu.Lock()
			close(l.granted)
			l.granted = make(chan struct{})
			l.mu.Unlock()
		}
	}
}

// These are the types of DHCP messages, and the offset of their options.
const (
	dhcpDiscover, dhcpOffer, dhcpRequest, dhcpAck = 1, 2, 3, 5

	dhcpOptions = 240
)

var dhcpCookie = []byte{99, 130, 83, 99}

// leaseFor returns the answer to a message, nil if it needs none, and whether that grants a lease.
func leaseFor(asked []byte) (answer []byte, grants bool) {
	if len(asked) < dhcpOptions || !bytes.Equal(asked[dhcpOptions-4:dhcpOptions], dhcpCookie) {
		return nil, false
	}
	kind := byte(0)
	for rest := asked[dhcpOptions:]; len(rest) > 2 && rest[0] != 255; {
		if rest[0] == 0 { // padding
			rest = rest[1:]
			continue
		}
		if rest[0] == 53 {
			kind = rest[2]
		}
		rest = rest[min(len(rest), 2+int(rest[1])):]
	}
	says := map[byte]byte{dhcpDiscover: dhcpOffer, dhcpRequest: dhcpAck}[kind]
	if says == 0 {
		return nil, false
	}
	bytesOf := func(address string) []byte { return netip.MustParseAddr(address).AsSlice() }
	answer = append([]byte{2}, asked[1:dhcpOptions]...)
	copy(answer[16:], bytesOf(node4))         // the client's address
	copy(answer[20:], bytesOf(node.Gateway4)) // the server's address
	for _, o := range []struct {
		code  byte
		value []byte
	}{
		{53, []byte{says}}, {54, bytesOf(node.Gateway4)}, {1, []byte{255, 255, 255, 0}},
		{3, bytesOf(node.Gateway4)}, {51, binary.BigEndian.AppendUint32(nil, leaseTime)},
	} {
		answer = append(append(answer, o.code, byte(len(o.value))), o.value...)
	}
	return append(answer, 255), says == dhcpAck
}
