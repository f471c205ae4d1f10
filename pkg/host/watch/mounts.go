package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"path"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// mountWatch watches mounts by polling mountinfo, which the kernel signals when any mount of the
// namespace or its flags change (fs/namespace.c, touch_mnt_namespace; proc_pid_mounts(5)). It is
// the host's namespace, where flags change that the service's copy does not get. Every pod mounts
// file systems, so only mounts at a path of the interest, or above one, cause an event. Mountinfo
// has paths without symlinks; the file watch knows where the paths of the interest lead.
type mountWatch struct {
	listener        // reads the changes
	list     string // the file with the list of mounts
	mounts   *os.File
	aim      atomic.Pointer[map[string]bool]
	seed     maphash.Seed

	lines *bufio.Reader // reads the list
	size  int           // of the list, in bytes

	files *fileWatch
}

func newMountWatch(w *Watcher, files *fileWatch, opt Options) *mountWatch {
	list := sys.HostMounts()
	if opt.Sandbox {
		list = "/proc/self/mountinfo"
	}
	return &mountWatch{listener: listener{w: w, source: Mounts}, list: list, seed: maphash.MakeSeed(),
		lines: bufio.NewReaderSize(nil, mountRoom), files: files}
}

func (m *mountWatch) set(i *Interest) (err error) {
	aim := map[string]bool{}
	for _, list := range [][]string{i.Paths, i.Lists, i.Mounts} {
		for _, p := range list {
			for ; p != "/" && p != "." && !aim[p]; p = path.Dir(p) {
				aim[p] = true
			}
		}
	}
	m.aim.Store(&aim)
	if !m.ended() {
		return nil
	}
	if err := m.open(); err != nil {
		return fmt.Errorf("listen to mountinfo: %w", err)
	}
	before, err := m.state()
	if err != nil {
		return errors.Join(err, m.mounts.Close())
	}
	m.done.Go(func() {
		defer m.mounts.Close() // nothing was written
		if err := m.follow(before); err != nil && !errors.Is(err, os.ErrClosed) {
			m.w.lose(Mounts, err)
		}
	})
	return nil
}

// open opens the list, and an epoll of its own for its changes. The runtime's poller watches that
// epoll and not the list: otherwise each change in a pause would wake the process.
func (m *mountWatch) open() error {
	list, err := sys.OpenRetry(m.list, unix.O_RDONLY)
	if err != nil {
		return err
	}
	m.mounts = os.NewFile(uintptr(list), m.list)
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return errors.Join(err, m.mounts.Close())
	}
	err = unix.SetNonblock(epoll, true)
	m.file = os.NewFile(uintptr(epoll), m.list)
	return err
}

// listen has the epoll report the next change, and none from before.
func (m *mountWatch) listen(epoll int) error {
	fd := int(m.mounts.Fd())
	// A poll reports all changes from before once.
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}, 0)
	return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLPRI})
}

// ignore has the epoll report no change until the next listen.
func (m *mountWatch) ignore(epoll int) {
	_ = unix.EpollCtl(epoll, unix.EPOLL_CTL_DEL, int(m.mounts.Fd()), nil) // it may report none now
}

// mountRoom is the size of the read buffer. The kernel returns a page or a line at a time.
const mountRoom = 8 << 10

// The pause after a change of mounts, in which follow waits for more of them. On a node with many
// pods the list has more than a thousand mounts, pods change it several times a second, and the
// kernel does not say what changed. So the pause grows with the list, so that reads of it take some
// percent of a processor at most.
const (
	mountPause     = 4 * watchPause
	mountPauseMost = time.Second
	pausePerKB     = time.Millisecond // the kernel needs some 9 µs for a kB of the list
)

// follow compares the mounts after each change. It reads the mounts before it waits, because the
// runtime's poller drops reports from before the wait.
func (m *mountWatch) follow(before uint64) error {
	raw, err := m.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("listen to mountinfo: %w", err)
	}
	for {
		now, waited := before, false
		var failed error
		err := raw.Read(func(epoll uintptr) bool {
			m.ignore(int(epoll))
			if waited {
				time.Sleep(m.pause())
			}
			waited = true
			if failed = m.listen(int(epoll)); failed == nil {
				now, failed = m.state()
			}
			return failed != nil || now != before
		})
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		m.files.again() // other directories may be at the watched paths
		m.w.trigger(Mounts, "a mount", false)
		before = now
	}
}

// pause returns how long to wait before the list is read again.
func (m *mountWatch) pause() time.Duration {
	return min(max(mountPause, time.Duration(m.size/1000)*pausePerKB), mountPauseMost)
}

// state returns a hash of the mounts that matter. It keeps nothing else of the list.
func (m *mountWatch) state() (uint64, error) {
	m.lines.Reset(io.NewSectionReader(m.mounts, 0, math.MaxInt64))
	var sum maphash.Hash
	sum.SetSeed(m.seed)
	m.size = 0
	for begins, matters := true, false; ; {
		part, err := m.lines.ReadSlice('\n')
		if begins && len(part) > 0 {
			matters = m.matters(part)
		}
		if matters {
			_, _ = sum.Write(part) // a hash takes all
		}
		m.size += len(part)
		begins = err == nil
		switch {
		case errors.Is(err, io.EOF):
			return sum.Sum64(), nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull): // the rest of the line follows
			return 0, fmt.Errorf("read mountinfo: %w", err)
		}
	}
}

// matters reports whether a line of mountinfo is about a mount at a path of the interest, or above
// one.
func (m *mountWatch) matters(line []byte) bool {
	for range 4 { // id, parent, device, root
		_, line, _ = bytes.Cut(line, []byte(" "))
	}
	at, _, _ := bytes.Cut(line, []byte(" "))
	if bytes.IndexByte(at, '\\') >= 0 {
		at = []byte(sys.UnescapeMount(string(at)))
	}
	return (*m.aim.Load())[string(at)] || m.files.leads(at)
}
