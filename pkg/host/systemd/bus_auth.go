package systemd

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

// busSocket is an authenticated connection to a bus. The library above it wants to authenticate
// itself, so busSocket answers the library's authentication.
//
// The library sends BEGIN, and then its first message. If a busy systemd reads both at once, it
// keeps a short message in its buffer and waits for more bytes: for example, a Reload gets no
// answer (sd-bus, bus_socket_read_auth; seen with systemd 252). So authenticate sends BEGIN
// together with AUTH, as sd-bus does, and messages are sent only after the answer. This also saves
// three round trips.
type busSocket struct {
	net.Conn
	in     *bufio.Reader   // from the bus
	script *strings.Reader // answers for the library's authentication
	begun  bool
}

// authenticate authenticates this user with the bus
// (https://dbus.freedesktop.org/doc/dbus-specification.html#auth-protocol).
func authenticate(sock *net.UnixConn) (*busSocket, error) {
	uid := hex.EncodeToString([]byte(strconv.Itoa(os.Geteuid())))
	if _, err := sock.Write([]byte("\x00AUTH EXTERNAL " + uid + "\r\nBEGIN\r\n")); err != nil {
		return nil, err
	}
	in := bufio.NewReader(sock)
	answer, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(answer, []byte("OK ")) {
		return nil, fmt.Errorf("it does not accept user %d: %q", os.Geteuid(), answer)
	}
	return &busSocket{Conn: sock, in: in, script: strings.NewReader("REJECTED EXTERNAL\r\n" + string(answer))}, nil
}

// Read reads the prepared answers first, then what the bus sends.
func (s *busSocket) Read(p []byte) (int, error) {
	if !s.begun {
		return s.script.Read(p)
	}
	return s.in.Read(p)
}

// Write drops the library's authentication, which ends with BEGIN.
func (s *busSocket) Write(p []byte) (int, error) {
	if s.begun {
		return s.Conn.Write(p)
	}
	s.begun = bytes.Equal(p, []byte("BEGIN\r\n"))
	return len(p), nil
}
