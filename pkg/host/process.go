package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Used returns the processor time that this process has used, in user mode and in the kernel.
func Used() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil { // it cannot fail for RUSAGE_SELF
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// UnmapProgram removes the pages of the program file from this process' memory. A start touches
// most of them for code that runs once, and so does each part of a pass. They stay in the kernel's
// page cache, which may now drop them; the kernel maps each page again when it is used. Writable
// pages stay. A command calls it before it reads documents, a pass before it plans and before it
// unpacks archives, and the daemon when it becomes idle: 0.2 ms each time. It may be called again.
func UnmapProgram() error {
	mappings, err := programMappings()
	if err != nil {
		return err
	}
	for _, m := range mappings {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED); errno != 0 {
			return os.NewSyscallError("madvise", errno)
		}
	}
	return nil
}

type mapping struct{ from, to uintptr }

// programMappings lists the read-only mappings of the program file, which never change.
var programMappings = sync.OnceValues(func() (out []mapping, err error) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(maps)) {
		var m mapping
		var mode string
		if !strings.HasSuffix(strings.TrimSpace(line), program) {
			continue
		}
		if _, err := fmt.Sscanf(line, "%x-%x %s", &m.from, &m.to, &mode); err != nil {
			return nil, fmt.Errorf("reading /proc/self/maps: %w", err)
		}
		if mode[1] != 'w' {
			out = append(out, m)
		}
	}
	return out, nil
})

// Process identifies one process of this boot. The PID alone is not enough: the kernel uses it
// again.
type Process struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"` // clock ticks after the boot, proc(5) field 22
}

// Self returns the calling process.
func Self() Process {
	stat, _ := sys.StatOf(os.Getpid())
	return Process{PID: os.Getpid(), Started: stat.Started}
}

// EndProcess kills a process, even a stopped one, and waits until it has ended. It is success if
// the process is gone, or if another process has its PID by now.
func (h *Host) EndProcess(ctx context.Context, p Process) error {
	for first := true; ; first = false {
		stat, err := sys.StatOf(p.PID)
		dead := !first && stat.State == "Z" // a zombie: its parent has not waited for it yet
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
