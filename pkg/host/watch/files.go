package watch

import (
	"encoding/binary"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// fileWatch watches paths, by inotify on their directories and all directories above. It also
// watches writes to sysctls through the host's procfs, by inotify on the directory of the sysctl.
// It does not use fsnotify, which identifies watches by path: if a directory above is replaced,
// fsnotify takes the old watches for those of the new directories, and it takes two paths of one
// directory for one.
type fileWatch struct {
	w    *Watcher
	root string // put before every path; "" for the host
	done sync.WaitGroup

	mu   sync.Mutex
	file *os.File // the inotify instance
	fd   int      // of file
	want *Interest
	dirs map[int32]*watchedDir // by watch descriptor

	byPath map[string]*watchedDir // the same
}

// watchedDir has the names in a directory whose events matter.
type watchedDir struct {
	path  string
	all   bool            // every name
	own   map[string]bool // all events of these names
	above map[string]bool // create, delete and rename of these names: they lead to watched paths
}

func newFileWatch(w *Watcher, opt Options) *fileWatch {
	root := path.Clean("/" + opt.Root)
	if root == "/" {
		root = ""
	}
	return &fileWatch{w: w, root: root}
}

func (f *fileWatch) name() Source { return Files }

// fileEvents are the events of changes to a file or its attributes, without reads and executions.
const fileEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF |
	unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// inotifyRoom is the size of the read buffer, for some hundred events.
const inotifyRoom = 32 << 10

func (f *fileWatch) set(i *Interest) error {
	if f.w.isUnwatched(Files) {
		if err := f.close(); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want = i
	if f.file == nil {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return fmt.Errorf("open inotify: %w: raise fs.inotify.max_user_instances", err)
		}
		file := os.NewFile(uintptr(fd), "inotify")
		f.file, f.fd, f.dirs = file, fd, map[int32]*watchedDir{}
		f.done.Go(func() {
			if err := readEvents(file, inotifyRoom, f.handle, func(error) bool { return false }); err != nil {
				f.w.lose(Files, err)
			}
		})
	}
	return f.look()
}

func (f *fileWatch) close() error {
	f.mu.Lock()
	file := f.file
	f.file = nil
	f.mu.Unlock()
	if file == nil {
		return nil
	}
	err := file.Close()
	f.done.Wait()
	return err
}

// again finds out anew which directories are at the paths.
func (f *fileWatch) again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return
	}
	if err := f.look(); err != nil {
		f.w.lose(Files, err)
	}
}

// handle compares events with the interest. If a directory above a path has changed, it watches the
// new one before it triggers.
func (f *fileWatch) handle(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return
	}
	var woken []string
	moved := false
	for len(b) >= unix.SizeofInotifyEvent {
		mask, size := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
		end := min(len(b), unix.SizeofInotifyEvent+size)
		dir, name := f.dirs[int32(binary.NativeEndian.Uint32(b))],
			unix.ByteSliceToString(b[unix.SizeofInotifyEvent:end])
		b = b[end:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			moved = true
			woken = append(woken, tooMany)
		case dir == nil: // no longer watched
		case mask&(unix.IN_IGNORED|unix.IN_UNMOUNT|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0:
			moved = true
			woken = append(woken, dir.path)
		case name != "":
			turns := dir.above[name] && mask&(unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO) != 0
			moved = moved || turns
			if turns || dir.all || dir.own[name] {
				woken = append(woken, path.Join(dir.path, name))
			}
		}
	}
	if moved {
		if err := f.look(); err != nil {
			f.w.lose(Files, err)
		}
	}
	for _, what := range woken {
		f.w.trigger(sourceOf(what), what, what == tooMany)
	}
}

// sourceOf returns the source of a path: files or sysctls.
func sourceOf(p string) Source {
	if strings.HasPrefix(p, sysctlRoot) {
		return Sysctls
	}
	return Files
}
