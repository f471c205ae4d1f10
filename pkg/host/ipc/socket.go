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

// Socket is a listening unix socket. Close removes its file.
type Socket struct {
	*net.UnixListener
	dir  int
	base string
}

// Listen opens a unix stream socket below the root, with mode 0600. Its file appears only when the
// socket accepts connections. It replaces an existing file: the caller must hold a lock that
// excludes another listener, so the file is that of a dead process. A directory at the path is an
// error.
func Listen(opt hostfs.Options, name string) (*Socket, error) { return ListenFor(opt, name, -1) }

// ListenFor is [Listen] for a socket that the members of a group may use, too, with mode 0660; gid
// below 0: no group. For its directory see MakeDirFor of pkg/host/hostfs/userfile.
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
	s.SetUnlinkOnClose(false) // the file gets another name below
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

// Close stops listening and removes the file of the socket. The caller must still hold the lock.
func (s *Socket) Close() error {
	err := unix.Unlinkat(s.dir, s.base, 0)
	if err == unix.ENOENT {
		err = nil // another process removed it
	}
	return errors.Join(err, s.UnixListener.Close(), unix.Close(s.dir))
}

// socketAddr names a socket by its directory's descriptor. So paths of any length fit, and no
// symlink can redirect the path.
func socketAddr(dir int, base string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("%s/%d/%s", descriptors, dir, base)}
}

// descriptors is the directory in which the kernel has the descriptors of this process.
const descriptors = "/proc/self/fd"

// dialLimit limits a connect. It waits only if more clients queue than a daemon ever has.
const dialLimit = 5 * time.Second

// Dial connects to a unix socket below the root. It returns [fs.ErrNotExist] if there is no socket,
// and [ErrNoListener] if no process listens, because the listener has died.
func Dial(ctx context.Context, opt hostfs.Options, name string) (*net.UnixConn, error) {
	files, err := hostfs.Open(opt)
	if err != nil {
		return nil, err
	}
	defer files.Close() // only read
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
	case errors.Is(err, unix.ENOENT) && unix.Access(descriptors, unix.F_OK) != nil:
		return nil, fmt.Errorf("connect to %s: %s is needed for that, and is not there: mount -t proc proc /proc",
			name, descriptors)
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("connect to %s: %w", name, fs.ErrNotExist) //nolint:house wrap it is a file
	case err != nil:
		return nil, hostpath.Explain("connect to", name, err)
	}
	return conn.(*net.UnixConn), nil
}

// ErrNoListener means that a socket exists but no process listens on it.
var ErrNoListener = sys.ErrNoListener

// Peer is the process at the other end of a unix socket, as the kernel saw it at the connect. PID
// is 0 if the process is in no PID namespace that this process can see.
type Peer struct{ PID, UID int }

// PeerOf reads the peer from the kernel. https://man7.org/linux/man-pages/man7/unix.7.html
// (SO_PEERCRED)
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

// Trusted reports whether a peer is root, or the user of this process.
func (p Peer) Trusted() bool { return p.UID == 0 || p.UID == unix.Geteuid() }
