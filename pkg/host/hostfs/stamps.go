package hostfs

import (
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
)

// Stamps stores digests of files with their metadata, so that a second run need not read 134 MB of
// binaries, or ten thousand small files, again. The ledger stores them.
type Stamps interface {
	// Lookup returns the recorded digest of path if size, mode, owner, mtime, ctime, inode and
	// device of info equal the recorded ones.
	Lookup(path string, info FileInfo) (blob.Digest, bool)
	// Record stores the digest of path with the metadata info.
	Record(path string, info FileInfo, sum blob.Digest)
}

// Within one tick of the kernel's clock a file can change twice and get the same time, so the
// second change would be missed (git's "racy" files). So a digest is recorded only if the clock
// ticked between the file's last change, by mtime and ctime, and the read. A later change then gets
// another time.

// Stable reports whether a file with the metadata info may be read and recorded now.
func Stable(info FileInfo) bool { return ticked(lastChange(info)) }

// OfImage reports whether an open file with the metadata info may have the times of an image. A
// kernel that writes a file system sets ctime itself. An image has what its builder wrote, often
// the same whole second in every build. Then a file of a later image that is mounted in its place
// can have the same metadata and other content. An overlay shows the times of the images below it.
func OfImage(fd int, info FileInfo) bool {
	if info.Ctime%1e9 != 0 {
		return false
	}
	on, err := fsOf(fd)
	return err == nil && (on.Flags&unix.ST_RDONLY != 0 || on.Type == unix.OVERLAYFS_SUPER_MAGIC)
}

// lastChange returns the latest possible time of the last change, in nanoseconds since the epoch.
func lastChange(info FileInfo) int64 {
	newest := max(info.Mtime, info.Ctime)
	if info.Mtime%1e9 == 0 && info.Ctime%1e9 == 0 {
		newest += 2e9 // a file system that stores seconds; FAT stores two-second steps
	}
	return newest
}

// longestTick is the tick of CONFIG_HZ=100 (10 ms) and a margin.
const longestTick = 12 // ms

// ticked reports whether a change now would get a later time than the given one.
func ticked(than int64) bool { return fileClock() > than }

// fileClock returns the time that a change of a file would get now. 0: unknown.
func fileClock() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return 0
	}
	return now.Nano()
}

// AwaitTick is [Stable], but waits first if one tick is enough. It sleeps with nanosleep(2), not
// with package time, because the kernel's clock decides.
func AwaitTick(info FileInfo) bool {
	newest := lastChange(info)
	if fileClock()+longestTick*1e6 < newest {
		return false
	}
	for range longestTick {
		if ticked(newest) {
			return true
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
	}
	return ticked(newest)
}

// add records that a file should be read again.
func (r *racyFiles) add(name string, info FileInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, racyFile{name, info})
}

// take returns the list and empties it.
func (r *racyFiles) take() []racyFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// RecheckRacy reads files again whose digests could not be recorded because they had just changed.
// So the next pass need not read them. A pass that may write calls it at its end. It waits at most
// one tick for a file. Unreadable files, and files with a time in the future, are left to the next
// pass.
func (w *Writer) RecheckRacy() {
	for _, r := range w.files.racy.take() {
		if AwaitTick(r.info) {
			_, _ = w.files.Sum(r.name)
		}
	}
	w.files.racy.take()
}
