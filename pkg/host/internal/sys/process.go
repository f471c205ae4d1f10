package sys

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"
)

// Sleep waits, and says whether ctx let it.
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

// Cause is the context's cause where that is why a call failed.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// StartOf reads when a process was started.
func StartOf(pid int) (uint64, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from field 3 on
	if len(fields) < 20 {
		return 0, errors.New("/proc/pid/stat has too few fields")
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// Ticks are those of a second, as procfs counts them for every program (USER_HZ):
// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
const Ticks = 100
