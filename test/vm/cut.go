package vm

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Lost is the disk of a machine that lost its power.
type Lost struct {
	After time.Duration // after the power was switched on
	Layer string        // its disk, for Options.Layer: what the machine had not made that keep is lost
}

// Cut boots a machine and takes its power away at random moments, count of them, from the first
// write to its disk until all is up and a script would begin. They come in order. Before the first
// write there is nothing to lose.
//
// The machine boots once for all moments. At each, all threads of qemu stand still while the layer
// is copied: it holds what it would if qemu were killed then, as it is at the end. qemu's own cache
// of the layer is not in it, and only a flush of the guest writes that down.
func Cut(t testing.TB, o Options, count int, random *rand.Rand) []Lost {
	t.Helper()
	m := newMachine(t, o)
	m.cuts = &cuts{count: count, random: random}
	if err := m.run(t.Context()); err != nil {
		t.Fatalf("cutting the power of a VM: %v\nresults:\n%s\nconsole:\n%s", err, m.results, m.tail())
	}
	slices.SortFunc(m.cuts.kept, func(a, b Lost) int { return int(a.After - b.After) })
	return m.cuts.kept
}

// cuts draws moments of a boot of which nobody knows how long it takes: each that comes replaces
// one of those kept, the less likely the more there were (reservoir sampling), so that in the end
// all moments had the same chance.
type cuts struct {
	count  int
	random *rand.Rand
	seen   int
	next   time.Duration
	empty  int64 // the size of a layer that nothing was written to
	kept   []Lost
}

// look keeps what the layer is at this moment, if the moment is drawn. It says for how long the
// machine stood still.
func (c *cuts) look(ctx context.Context, pid int, layer string, now time.Duration) (time.Duration, error) {
	info, err := os.Stat(layer)
	if err != nil {
		return 0, fmt.Errorf("looking at the disk: %w", err)
	}
	if c.empty == 0 {
		c.empty = info.Size()
	}
	if info.Size() == c.empty || now < c.next {
		return 0, nil
	}
	c.next = now + time.Duration(c.random.Int64N(int64(time.Second)))
	c.seen++
	at := c.seen - 1
	if len(c.kept) < c.count {
		c.kept = append(c.kept, Lost{Layer: fmt.Sprintf("%s-cut-%d", layer, at)})
	} else if at = c.random.IntN(c.seen); at >= c.count {
		return 0, nil
	}
	start := time.Now()
	err = c.keep(ctx, pid, layer, c.kept[at].Layer)
	c.kept[at].After = now
	return time.Since(start), err
}

// keep copies the layer while the machine stands still.
func (c *cuts) keep(ctx context.Context, pid int, layer, to string) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stopping qemu: %w", err)
	}
	for {
		still, err := stopped(pid)
		if err != nil {
			return err
		}
		if still {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if out, err := exec.CommandContext(ctx, "cp", "--sparse=always", layer, to).CombinedOutput(); err != nil {
		return fmt.Errorf("keeping the disk: %w: %s", err, out)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("going on with qemu: %w", err)
	}
	return nil
}

// stopped says whether every thread of a process has come to a stop: one in a system call does so
// at its end.
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, fmt.Errorf("listing the threads of qemu: %w", err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("looking at a thread of qemu: %w", err)
		}
		// The name, in parentheses, may hold anything.
		// https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
		if !bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" T")) {
			return false, nil
		}
	}
	return true, nil
}
