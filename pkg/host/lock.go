package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is how long a pass waits for another one; the daemon's longest
// ordinary pass is shorter.
const lockWait = 30 * time.Second

// Lock takes the lock of a pass, so that no two write at once. It waits for a
// holder for half a minute and then names it. The kernel lets go of the lock
// when its holder dies, so it cannot be stale. The returned function unlocks.
func (h *Host) Lock(ctx context.Context, path string) (unlock func(), err error) {
	full := filepath.Join(h.opt.Root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the lock: %w", err)
	}
	f, err := os.OpenFile(full, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	for deadline := time.Now().Add(lockWait); ; time.Sleep(50 * time.Millisecond) {
		whole := unix.Flock_t{Type: unix.F_WRLCK}
		err = unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole)
		switch busy := errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES); {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !busy:
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		case ctx.Err() != nil:
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", path, context.Cause(ctx)), f.Close())
		case time.Now().After(deadline):
			return nil, errors.Join(held(path, f), f.Close())
		}
	}
}

// held names the process that has the lock: the kernel knows it, so that no
// pid need be written, and none can be stale.
func held(path string, f *os.File) error {
	holder := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &holder); err != nil || holder.Pid <= 0 {
		return fmt.Errorf("another run holds %s: wait for it and try again", path)
	}
	return fmt.Errorf("another run holds %s: pid %d; wait for it, or see what it does with `journalctl _PID=%d`", path, holder.Pid, holder.Pid)
}
