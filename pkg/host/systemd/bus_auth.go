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

// busSocket is a connection to a bus that authenticated itself, under a
// library that wants to do so: that conversation is answered here.
//
// The library sends BEGIN and then its first message. When systemd, busy, reads
// both in one go it keeps a short message in its buffer and waits for more
// bytes before it looks at it: a Reload that nobody answers (sd-bus,
// bus_socket_read_auth; seen with systemd 252). So BEGIN goes out together with
// AUTH, as sd-bus itself does, and messages only after the answer, which also
// saves three round trips.
type busSocket struct {
	net.Conn
	in     *bufio.Reader   // from the bus
	script *strings.Reader // what the library's own authentication shall read
	begun  bool
}

// authenticate makes this user known to the bus
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

// Read reads the script, then what the bus sends.
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
