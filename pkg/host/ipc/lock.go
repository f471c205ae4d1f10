package ipc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

const (
	// lockWait is how long a pass waits for another one. The longest normal pass of the daemon is
	// shorter.
	lockWait = 30 * time.Second
	// lockNotice is the time after which a waiting caller is told who has the lock.
	lockNotice = time.Second
)

// Lock takes a lock of this machine, so that no two passes write at once, and no two daemons run.
// It waits half a minute for the lock's owner, and then returns an error that names it. After a
// second it calls told once with the owner; told may be nil. The kernel releases the lock when its
// owner dies, so it cannot be stale. The returned function unlocks. Inside one process the lock has
// no effect. The caller must take it before it looks at the host and the ledger, because another
// process may be changing both.
func Lock(ctx context.Context, opt hostfs.Options, name string, told func(LockOwner)) (unlock func(), err error) {
	var f *os.File
	begun := time.Now()
	for ; ; time.Sleep(50 * time.Millisecond) {
		if f == nil {
			if f, err = OpenLock(opt, name); err != nil {
				return nil, fmt.Errorf("take the lock of a run: %w", err)
			}
		}
		whole := unix.Flock_t{Type: unix.F_WRLCK}
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
		switch busy := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES); {
		case err == nil && removed(f):
			_ = f.Close() // a removed file locks nothing: the next caller creates another
			f = nil
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !busy:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		case ctx.Err() != nil:
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", name, context.Cause(ctx)), f.Close())
		case time.Since(begun) > lockWait:
			return nil, errors.Join(lockedError(name, f), f.Close())
		case told != nil && time.Since(begun) > lockNotice:
			if who, known := lockOwner(f); known {
				told(who)
				told = nil
			}
		}
	}
}

// removed reports whether a file was removed while the caller waited for it: a reset removes the
// directory of the lock.
func removed(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

// openDir opens the directory of a path below the root, without leaving the root, and creates
// missing directories. clean is the cleaned path.
func openDir(opt hostfs.Options, verb, name string) (dir int, clean string, err error) {
	files, err := hostfs.Open(opt)
	if err != nil {
		return -1, "", err
	}
	defer files.Close() // nothing was written through it
	if clean, err = hostpath.Clean(verb, name); err != nil {
		return -1, "", err
	}
	if dir, _, err = files.Paths.OpenDir(path.Dir(clean), true); err != nil {
		err = hostpath.Explain("make directory", path.Dir(clean), err)
	}
	return dir, clean, err
}

// OpenLock opens the file of a lock, and creates it and missing directories.
func OpenLock(opt hostfs.Options, name string) (*os.File, error) {
	dir, name, err := openDir(opt, "open", name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, path.Base(name), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, hostpath.Explain("open", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// lockOwner returns the process that has the lock. The kernel knows it, so no file with a PID is
// needed that could be stale.
func lockOwner(f *os.File) (who LockOwner, known bool) {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil || lock.Pid <= 0 {
		return LockOwner{}, false
	}
	return ownerOf(int(lock.Pid)), true
}

func lockedError(name string, f *os.File) error {
	who, known := lockOwner(f)
	if !known {
		return fmt.Errorf("another run holds %s: wait for it and try again", name)
	}
	return fmt.Errorf("another run holds %s: %s; wait for it, or see what it does with `journalctl _PID=%d`", name, who,
		who.PID)
}
