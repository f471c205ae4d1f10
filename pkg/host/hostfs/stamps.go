package hostfs

import (
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
)

// Stamps remembers digests of files by their metadata, so that a second run
// need not read 134 MB of binaries, nor ten thousand small files, again. The ledger keeps them.
type Stamps interface {
	// Lookup returns the digest recorded for path if info's size, mode, owner,
	// mtime, ctime, inode and device are those of the record.
	Lookup(path string, info FileInfo) (blob.Digest, bool)
	// Record keeps a digest for path as info describes it.
	Record(path string, info FileInfo, sum blob.Digest)
}

// Within one tick of the kernel's clock a file can change twice under one time stamp, and the
// second change would look like the first (git's "racy" files). So what is read is vouched for only
// if the clock has ticked between its last change, by mtime and ctime, and the reading: who changes
// it from then on gives it another time.

// Stable says that a file which was last changed as info says may be read now and vouched for.
func Stable(info FileInfo) bool { return ticked(lastChange(info)) }

// lastChange is the latest that the last change can have been, in nanoseconds since the epoch.
func lastChange(info FileInfo) int64 {
	newest := max(info.Mtime, info.Ctime)
	if info.Mtime%1e9 == 0 && info.Ctime%1e9 == 0 {
		newest += 2e9 // a file system that counts seconds, FAT's two at worst
	}
	return newest
}

// longestTick is that of CONFIG_HZ=100, and something.
const longestTick = 12 // ms

// ticked says that a change would by now give a file a later time than this.
func ticked(than int64) bool { return fileClock() > than }

// fileClock is the time that a change would give a file now. 0: unknown.
func fileClock() int64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) != nil {
		return 0
	}
	return now.Nano()
}

// AwaitTick is [Stable], after a wait where one tick will do. The wait is the kernel's, as its
// clock is, and not that of package time.
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

// add remembers that a file should be read again.
func (r *racyFiles) add(name string, info FileInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, racyFile{name, info})
}

// take empties the list.
func (r *racyFiles) take() []racyFile {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

// RecheckRacy reads again what was read, or written, too soon before to be vouched for, so that
// the next pass need not. It is for the end of a pass that may write, and waits for one tick at
// most; what cannot be read, or is of the future, is left to the next pass.
func (w *Writer) RecheckRacy() {
	for _, r := range w.files.racy.take() {
		if AwaitTick(r.info) {
			_, _ = w.files.Sum(r.name)
		}
	}
	w.files.racy.take()
}
