package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	for deadline := time.Now().Add(lockWait); ; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, errors.Join(lockError(path, f, err), context.Cause(ctx), f.Close())
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = f.Truncate(0) // the pid is only for people: see lockError
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return func() { _ = f.Close() }, nil
}

func lockError(path string, f *os.File, err error) error {
	if !errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	buf := make([]byte, 16)
	n, _ := f.ReadAt(buf, 0)
	holder := strings.TrimSpace(string(buf[:n]))
	return fmt.Errorf("another run holds %s: pid %s; wait for it, or see what it does with `journalctl _PID=%s`", path, holder, holder)
}
