package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostfs/userfile"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/needs"
)

const sock = "/run/netwright/agent.sock"

// A path of any length is possible, since a socket is named through the descriptor of its
// directory. The line that keeps it: socket.go, socketAddr.
func deepRoot(t *testing.T) hostfs.Options {
	t.Helper()
	root := filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return hostfs.Options{Root: root}
}

func TestSocket(t *testing.T) {
	opt := deepRoot(t)
	if _, err := Dial(t.Context(), opt, sock); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing is there: %v", err)
	}
	s, err := Listen(opt, sock)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(opt.Root, sock)
	if info, err := os.Lstat(at); err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket is %v %v, want 0600", info, err)
	}
	conn, err := Dial(t.Context(), opt, sock)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server, err := s.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for who, end := range map[string]*net.UnixConn{"the server": conn, "the client": server} {
		if p, err := PeerOf(end); err != nil || p != (Peer{PID: os.Getpid(), UID: os.Getuid()}) || !p.Trusted() {
			t.Errorf("%s is %+v %v", who, p, err)
		}
	}
	if (Peer{UID: 65534}).Trusted() || !(Peer{UID: 0}).Trusted() {
		t.Error("another user is trusted, or root is not")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(at)); err != nil || len(left) > 0 {
		t.Errorf("left after the end: %v %v", left, err)
	}
}

// Without /proc no socket can be reached, which does not prove that no process listens. The line
// that keeps it: socket.go, Dial (descriptors).
func TestDialWithoutProc(t *testing.T) {
	needs.Root(t)
	opt := hostfs.Options{Root: t.TempDir()}
	s, err := Listen(opt, sock)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = sys.OnThread(func() error {
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = unix.Mount("tmpfs", "/proc", "tmpfs", 0, "")
		}
		if err != nil {
			t.Errorf("hide /proc: %v", err)
		}
		_, err = Dial(t.Context(), opt, sock)
		return err
	})
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "mount -t proc proc /proc") {
		t.Errorf("Dial returns %v", err)
	}
}

// While no client can be accepted, the caller hears of it once, and again when it happens anew. A
// process of its own has no descriptors for some seconds. The line that keeps it: socket_serve.go,
// Serve (refused).
func TestRefusedIsHeardOnce(t *testing.T) {
	const alone = "NETWRIGHT_TEST_NO_DESCRIPTORS"
	if os.Getenv(alone) == "" {
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.count=1")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := child.Output(cmd); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	opt := hostfs.Options{Root: t.TempDir()}
	s, err := Listen(opt, sock)
	must(err)
	var heard atomic.Int32
	served, ended := make(chan struct{}), make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		ended <- s.Serve(ctx, Clients{Places: 1, Refused: func(error) { heard.Add(1) }, Serve: func(c *net.UnixConn) {
			c.Close()
			served <- struct{}{}
		}})
	}()
	var all unix.Rlimit
	must(unix.Getrlimit(unix.RLIMIT_NOFILE, &all))
	for range 2 {
		client, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		must(err)
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: all.Max}))
		must(unix.Connect(client, &unix.SockaddrUnix{Name: filepath.Join(opt.Root, sock)}))
		time.Sleep(2500 * time.Millisecond)
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &all))
		<-served
		must(unix.Close(client))
	}
	stop()
	must(<-ended)
	if n := heard.Load(); n != 2 {
		t.Errorf("heard %d times of two", n)
	}
}

// What a dead daemon left under both names does not prevent a new socket. The line that keeps it:
// socket.go, Renameat.
func TestSocketOfTheDead(t *testing.T) {
	opt := deepRoot(t)
	s, err := Listen(opt, sock)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(opt.Root, sock)
	if err := errors.Join(s.UnixListener.Close(), os.WriteFile(at+".new", nil, 0o600)); err != nil { // as by SIGKILL: the name stays
		t.Fatal(err)
	}
	if _, err := Dial(t.Context(), opt, sock); !errors.Is(err, ErrNoListener) {
		t.Errorf("a dead daemon's socket: %v", err)
	}
	again, err := Listen(opt, sock)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := Dial(t.Context(), opt, sock)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := again.Close(); err != nil {
		t.Error(err)
	}

	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(opt, sock); err == nil {
		t.Error("a directory in the way was taken away")
	}
	if left, err := os.ReadDir(filepath.Dir(at)); err != nil || len(left) != 1 {
		t.Errorf("left after a failure: %v %v", left, err)
	}
}

// A link in place of the socket's directory does not lead out of an image.
func TestSocketStaysBelowTheRoot(t *testing.T) {
	opt, outside := deepRoot(t), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(opt.Root, "run")); err != nil {
		t.Fatal(err)
	}
	if s, err := Listen(opt, sock); err == nil {
		s.Close()
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside of the root: %v %v", left, err)
	}
}

// The kernel, and not the client, says which user connects. Here a thread of this process is
// another user.
func TestPeerIsWhomTheKernelSays(t *testing.T) {
	needs.Root(t)
	s, err := Listen(hostfs.Options{Root: t.TempDir()}, "/agent.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at := fmt.Sprintf("/proc/self/fd/%d/agent.sock", s.dir)
	if err := os.Chmod(at, 0o666); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its user
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			failed <- err
			return
		}
		defer unix.Close(fd)
		const keep = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, 65534, keep); errno != 0 { // only of this thread
			failed <- errno
			return
		}
		failed <- unix.Connect(fd, &unix.SockaddrUnix{Name: at})
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	conn, err := s.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if p, err := PeerOf(conn); err != nil || p != (Peer{PID: os.Getpid(), UID: 65534}) || p.Trusted() {
		t.Errorf("the peer is %+v %v", p, err)
	}
}

// Only a group and the owner can use a group's socket, and its directory has exactly its modes. The
// lines that keep it: socket.go, ListenFor; pkg/host/hostfs/userfile/userfile.go, MakeDirFor.
func TestSocketForAGroup(t *testing.T) {
	needs.Root(t)
	opt := deepRoot(t)
	if err := os.MkdirAll(filepath.Join(opt.Root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(opt.Root, "etc/passwd"), nil, 0o644),
		os.WriteFile(filepath.Join(opt.Root, "etc/group"), []byte("root:x:0:\nwatchers:x:4321:\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	w, err := userfile.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	gid, err := w.Group("watchers")
	if err != nil || gid != 4321 {
		t.Fatalf("the group is %d, %v", gid, err)
	}
	if _, err := w.Group("nobody-such"); err == nil || !strings.Contains(err.Error(), "groupadd") {
		t.Errorf("a group that is not there: %v", err)
	}
	dir := filepath.Dir(sock)
	stat := func(name string) string {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(opt.Root, name), &st); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%o %d:%d", st.Mode&0o7777, st.Uid, st.Gid)
	}
	if err := w.MakeDirFor(dir, gid); err != nil || stat(dir) != "710 0:4321" {
		t.Errorf("the directory is %s, %v", stat(dir), err)
	}
	s, err := ListenFor(opt, dir+"/status.sock", gid)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	own, err := Listen(opt, sock)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if got := stat(dir+"/status.sock") + ", " + stat(sock); got != "660 0:4321, 600 0:0" {
		t.Errorf("the sockets are %s", got)
	}
	if err := w.MakeDirFor(dir, -1); err != nil || stat(dir) != "700 0:0" {
		t.Errorf("the directory for nobody else is %s, %v", stat(dir), err)
	}
}
