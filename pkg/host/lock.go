package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is how long a pass waits for another one; the daemon's longest
// ordinary pass is shorter.
const lockWait = 30 * time.Second

// Lock takes the lock of a pass, so that no two write at once. It waits for a
// holder for half a minute and then names it. The kernel lets go of the lock
// when its holder dies, so it cannot be stale. The returned function unlocks.
// It is taken before the host and the ledger are looked at: both may be
// another's work until then.
func Lock(ctx context.Context, opt Options, name string) (unlock func(), err error) {
	f, err := openLock(opt, name)
	if err != nil {
		return nil, fmt.Errorf("take the lock of a run: %w", err)
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(50 * time.Millisecond) {
		whole := unix.Flock_t{Type: unix.F_WRLCK}
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
		switch busy := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES); {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !busy:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		case ctx.Err() != nil:
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", name, context.Cause(ctx)), f.Close())
		case time.Now().After(deadline):
			return nil, errors.Join(held(name, f), f.Close())
		}
	}
}

// openLock opens the lock's file, inside of the root whatever links there are, and makes what is missing.
func openLock(opt Options, name string) (*os.File, error) {
	files, err := openFiles(opt)
	if err != nil {
		return nil, err
	}
	defer files.close() // nothing was written through it
	if name, err = clean("open", name); err != nil {
		return nil, err
	}
	dir, err := files.makeDirs(path.Dir(name))
	if err != nil {
		return nil, explain("make directory", path.Dir(name), err)
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, path.Base(name), unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, explain("open", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// held names the process that has the lock: the kernel knows it, so that no
// pid need be written, and none can be stale.
func held(name string, f *os.File) error {
	holder := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &holder); err != nil || holder.Pid <= 0 {
		return fmt.Errorf("another run holds %s: wait for it and try again", name)
	}
	return fmt.Errorf("another run holds %s: pid %d; wait for it, or see what it does with `journalctl _PID=%d`", name, holder.Pid, holder.Pid)
}
