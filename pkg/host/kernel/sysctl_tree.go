package kernel

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// NetSysctls are all keys of net.* that may be read and written here, with their values: those of
// the machine too where they may be set. Each link has a hundred, so a node full of pods has
// fourteen thousand. So each is opened from its directory and read once: to walk the whole path to
// it, twice, took five times as long.
func (w *Writer) NetSysctls() map[string]string {
	out := map[string]string{}
	if w.kernel.Live {
		w.sysctlsBelow(unix.AT_FDCWD, w.kernel.Proc+"/sys/net", "net", make([]byte, os.Getpagesize()), out)
	}
	return out
}

// sysctlsBelow adds those below a directory, which is name to who has its parent, and path below
// /proc/sys. What cannot be read now (a link that goes just then, a key that wants more rights) is
// not kept. room is for one value, and for one byte more.
func (w *Writer) sysctlsBelow(parent int, name, path string, room []byte, out map[string]string) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), w.kernel.Proc+"/sys/"+path)
	defer dir.Close() // only read from
	entries, _ := dir.ReadDir(-1)
	for _, e := range entries {
		below := path + "/" + e.Name()
		if e.IsDir() {
			w.sysctlsBelow(fd, e.Name(), below, room, out)
			continue
		}
		key := swapSeparators(below)
		if ScopeOf(key) == ScopeHost && !w.opt.HostSysctls {
			continue
		}
		if value, ok := readSysctl(fd, e.Name(), room); ok {
			out[key] = value
		}
	}
}

// readSysctl reads a key that may be read and written. The kernel gives a value with the first
// read, whole.
func readSysctl(dir int, name string, room []byte) (value string, ok bool) {
	var info unix.Stat_t
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	if unix.Fstat(fd, &info) != nil || info.Mode&0o600 != 0o600 {
		return "", false
	}
	n, err := unix.Read(fd, room)
	return sys.FoldSpace(string(room[:max(n, 0)])), err == nil && n < len(room)
}
