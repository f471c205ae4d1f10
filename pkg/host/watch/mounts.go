package watch

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// mountWatch watches mounts by polling mountinfo, which the kernel signals when any mount of the
// namespace or its flags change (fs/namespace.c, touch_mnt_namespace; poll(2) with POLLPRI). It is
// the host's namespace, where flags change that the service's copy does not get. Every pod mounts
// file systems, so only mounts at a path of the interest, or above one, cause an event. Mountinfo
// has paths without symlinks; the file watch knows where the paths of the interest lead.
type mountWatch struct {
	listener
	list string // the file with the list of mounts
	aim  atomic.Pointer[map[string]bool]
	seed maphash.Seed

	files *fileWatch
}

func newMountWatch(w *Watcher, files *fileWatch, opt Options) *mountWatch {
	list := sys.HostMounts()
	if opt.Sandbox {
		list = "/proc/self/mountinfo"
	}
	return &mountWatch{listener: listener{w: w, source: Mounts}, list: list, seed: maphash.MakeSeed(), files: files}
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
	if m.file, err = os.Open(m.list); err != nil {
		return fmt.Errorf("open mountinfo: %w", err)
	}
	raw, err := m.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("listen to mountinfo: %w", err)
	}
	before, err := m.state()
	if err != nil {
		return err
	}
	m.done.Go(func() {
		if err := m.follow(raw, before); err != nil && !errors.Is(err, os.ErrClosed) {
			m.w.lose(Mounts, err)
		}
	})
	return nil
}

// mountPause is how long follow waits for more changes before it reads the list of all mounts
// again.
const mountPause = 4 * watchPause

// follow compares the mounts each time that the runtime's poller reports a change (POLLERR comes
// with POLLPRI). It reads the mounts before it waits, because the poller drops reports from before
// the wait.
func (m *mountWatch) follow(raw syscall.RawConn, before uint64) error {
	for {
		now, waited := before, false
		var failed error
		err := raw.Read(func(uintptr) bool {
			if waited {
				time.Sleep(mountPause)
			}
			waited = true
			now, failed = m.state()
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

// state returns a hash of the mounts that matter.
func (m *mountWatch) state() (uint64, error) {
	list, err := sys.ReadKernelFile(m.list)
	if err != nil {
		return 0, fmt.Errorf("read mountinfo: %w", err)
	}
	aim := *m.aim.Load()
	var sum maphash.Hash
	sum.SetSeed(m.seed)
	for line := range bytes.Lines(list) {
		fields := bytes.SplitN(line, []byte(" "), 6)
		if len(fields) < 6 {
			continue
		}
		if at := sys.UnescapeMount(string(fields[4])); aim[at] || m.files.leads(at) {
			_, _ = sum.Write(line) // a hash takes all
		}
	}
	return sum.Sum64(), nil
}
