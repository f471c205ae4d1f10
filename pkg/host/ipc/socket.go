package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Socket is a unix socket that is listened on. Close takes its name away.
type Socket struct {
	*net.UnixListener
	dir  int
	base string
}

// Listen opens a unix stream socket below the root, mode 0600. It appears under its name when it
// answers. What is in its place goes: the caller holds a lock that says that nobody listens there,
// so it is what a dead process left. A directory in its place is an error.
func Listen(opt hostfs.Options, name string) (*Socket, error) { return ListenFor(opt, name, -1) }

// ListenFor is [Listen] for a socket that the members of a group may use too, mode 0660; gid below
// 0: none. See MakeDirFor of pkg/host/hostfs/userfile for its directory.
func ListenFor(opt hostfs.Options, name string, gid int) (*Socket, error) {
	dir, name, err := openDir(opt, "listen on", name)
	if err != nil {
		return nil, err
	}
	s := &Socket{dir: dir, base: path.Base(name)}
	fresh := s.base + ".new"
	fail := func(err error) error { return errors.Join(hostpath.Explain("listen on", name, err), unix.Close(dir)) }
	if err := unix.Unlinkat(dir, fresh, 0); err != nil && err != unix.ENOENT {
		return nil, fail(err)
	}
	if s.UnixListener, err = net.ListenUnix("unix", socketAddr(dir, fresh)); err != nil {
		return nil, fail(err)
	}
	s.SetUnlinkOnClose(false) // not under this name
	mode := uint32(0o600)
	if gid >= 0 {
		mode = 0o660
		err = unix.Fchownat(dir, fresh, -1, gid, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil {
		err = unix.Fchmodat(dir, fresh, mode, 0)
	}
	if err == nil {
		err = unix.Renameat(dir, fresh, dir, s.base)
	}
	if err != nil {
		return nil, errors.Join(s.UnixListener.Close(), unix.Unlinkat(dir, fresh, 0), fail(err))
	}
	return s, nil
}

// Close stops listening and removes the socket's file. The caller holds the lock still.
func (s *Socket) Close() error {
	err := unix.Unlinkat(s.dir, s.base, 0)
	if err == unix.ENOENT {
		err = nil // somebody was faster
	}
	return errors.Join(err, s.UnixListener.Close(), unix.Close(s.dir))
}

// socketAddr names a socket by its directory's descriptor: a path of any length fits, and nobody
// can put a link in the way.
func socketAddr(dir int, base string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir, base)}
}

// dialLimit bounds a connect: it waits only where more clients queue than a daemon ever has.
const dialLimit = 5 * time.Second

// Dial connects to a unix socket below the root. [fs.ErrNotExist]: there is none; [ErrNoListener]:
// nobody listens, for who did has died.
func Dial(ctx context.Context, opt hostfs.Options, name string) (*net.UnixConn, error) {
	files, err := hostfs.Open(opt)
	if err != nil {
		return nil, err
	}
	defer files.Close() // only read from
	if name, err = hostpath.Clean("connect to", name); err != nil {
		return nil, err
	}
	dir, base, err := files.Paths.OpenParent(name)
	if err != nil {
		return nil, hostpath.Explain("connect to", name, err)
	}
	defer unix.Close(dir)
	conn, err := (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "unix", socketAddr(dir, base).Name)
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("connect to %s: %w", name, ErrNoListener)
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("connect to %s: %w", name, fs.ErrNotExist)
	case err != nil:
		return nil, hostpath.Explain("connect to", name, err)
	}
	return conn.(*net.UnixConn), nil
}

// ErrNoListener says that a socket is there and nobody listens on it.
var ErrNoListener = sys.ErrNoListener

// Peer is who is at the other end of a unix socket, as the kernel saw it when it connected. PID is
// 0 if it is of no namespace of ours.
type Peer struct{ PID, UID int }

// PeerOf asks the kernel. https://man7.org/linux/man-pages/man7/unix.7.html (SO_PEERCRED)
func PeerOf(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("ask who connected: %w", err)
	}
	var cred *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return Peer{}, fmt.Errorf("ask who connected: %w", err)
	}
	if asked != nil {
		return Peer{}, fmt.Errorf("ask who connected: %w", asked)
	}
	return Peer{PID: int(cred.Pid), UID: int(cred.Uid)}, nil
}

// Trusted says that a peer is root, or the user whom this process belongs to.
func (p Peer) Trusted() bool { return p.UID == 0 || p.UID == unix.Geteuid() }
