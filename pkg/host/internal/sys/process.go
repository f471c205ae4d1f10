package sys

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Cause returns the cause of ctx if ctx has ended, else err.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Stat has what the kernel reports about a process.
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
type Stat struct {
	Name    string // of its program
	State   string // R, S, Z …
	Parent  int
	Started uint64 // clock ticks after the boot
}

// Began returns when the process started, as time since the boot like [Uptime].
func (s Stat) Began() time.Duration { return time.Duration(s.Started) * time.Second / Ticks }

// StatOf reads the Stat of a process.
func StatOf(pid int) (s Stat, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, err
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return s, errors.New("/proc/pid/stat names no program")
	}
	fields := strings.Fields(string(stat[end+1:])) // from field 3 on
	if len(fields) < 20 {
		return s, errors.New("/proc/pid/stat has too few fields")
	}
	s.Name, s.State = string(stat[open+1:end]), fields[0]
	if s.Parent, err = strconv.Atoi(fields[1]); err == nil {
		s.Started, err = strconv.ParseUint(fields[19], 10, 64)
	}
	return s, err
}

// Ticks is the number of clock ticks in a second that the kernel reports to programs (USER_HZ).
const Ticks = 100

// Uptime returns the time since the boot, including suspend. No program can set this clock.
func Uptime() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil { // the kernel has it since 2.6.39
		return 0
	}
	return time.Duration(now.Nano())
}
