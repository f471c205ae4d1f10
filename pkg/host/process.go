package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Used is the processor time of this process, of the kernel's work for it too.
func Used() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil { // it cannot fail for oneself
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// UnmapProgram takes the program's own pages out of this process' memory. They stay in the
// kernel's cache, which may now drop them, and each comes back when it is used: a start touches
// most of them, for code that runs once. What is written to stays. The daemon calls it when it has
// nothing to do, and a pass before it unpacks archives. It may be called again.
func UnmapProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var mode string
		if !strings.HasSuffix(strings.TrimSpace(line), program) {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil {
			return fmt.Errorf("reading /proc/self/maps: %w", err)
		}
		if mode[1] == 'w' {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED); errno != 0 {
			return os.NewSyscallError("madvise", errno)
		}
	}
	return nil
}

// Sleep waits; false: ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool { return sys.Sleep(ctx, d) }

// started is when this process began.
var started = time.Now()

// NextTick is the first moment after another that is a whole number of periods after this process
// began. What is looked at now and then is looked at at ticks: that wakes a process that rests once
// for all of it, and a wake costs as much as a look.
func NextTick(after time.Time, every time.Duration) time.Time {
	since := after.Sub(started) % every
	return after.Add(every - (since+every)%every)
}

// Pause waits for less than a millisecond, as exactly as the kernel does. Go's timers wake a
// process that has nothing else to do up to a millisecond late: its poller counts in milliseconds
// (runtime/netpoll_epoll.go).
func Pause(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR { // the runtime's own signals
	}
}

// Process names one process of this boot: a number alone is used again.
type Process struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // clock ticks after the boot, proc(5) field 22
}

// Self is the process that calls.
func Self() Process {
	stat, _ := sys.StatOf(os.Getpid())
	return Process{PID: os.Getpid(), Started: stat.Started}
}

// EndProcess kills a process, stopped or not, and waits until it is gone. One
// that is gone, or whose number another has by now, is success.
func (h *Host) EndProcess(ctx context.Context, p Process) error {
	for first := true; ; first = false {
		stat, err := sys.StatOf(p.PID)
		dead := !first && stat.State == "Z" // its parent has not looked yet
		if err != nil || stat.Started != p.Started || dead || p.PID == os.Getpid() {
			return nil
		}
		if first {
			if err := unix.Kill(p.PID, unix.SIGKILL); err != nil && err != unix.ESRCH {
				return fmt.Errorf("end process %d: %w", p.PID, err)
			}
		}
		if !sys.Sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("end process %d: %w", p.PID, context.Cause(ctx))
		}
	}
}
