package hostfs

import (
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

var processStart = time.Now()

// RemoveStale removes what a killed run left staged in directories: new content that never got
// to its place, or, where it was swapped in, the old. A pass calls it for all directories that it
// has files in, since a run that died after its last rename left nothing else to do there. A
// directory that is not there has none, and one that cannot be read is its tasks' to report.
func (w *Writer) RemoveStale(dirs []string) {
	for _, name := range dirs {
		fd, _, err := w.files.Paths.OpenDir(path.Clean(name), false)
		if err != nil {
			continue
		}
		w.removeStale(fd, name)
		unix.Close(fd)
	}
}

// removeStale removes staged files that a killed run left in a directory, the
// first time that this pass writes into it.
func (w *Writer) removeStale(dir int, name string) {
	if !w.files.cleaner.first(name) {
		return
	}
	fd, err := quietly(func(more int) (int, error) {
		return unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|more, 0)
	})
	if err != nil {
		return
	}
	here := os.NewFile(uintptr(fd), name)
	defer here.Close()
	list, err := here.Readdirnames(-1) // of ten thousand, sorting takes as long
	if err != nil {
		return
	}
	for _, entry := range list {
		if leftover(dir, entry, time.Now()) && unix.Unlinkat(dir, entry, 0) == nil {
			w.wrote("removed what a killed run had staged", path.Join(name, entry))
		}
	}
}

// leftover says whether a file was staged by a process before this one. A file
// with our name that is younger belongs to another agent that still runs; one of the
// future, to a run before the clock was set back.
func leftover(dir int, entry string, now time.Time) bool {
	token, ok := stagedBy(entry)
	if !ok || token == processToken {
		return false
	}
	info, err := statx(dir, entry, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && info.Type != Directory && (info.Ctime < processStart.UnixNano() || info.Ctime > now.UnixNano())
}
