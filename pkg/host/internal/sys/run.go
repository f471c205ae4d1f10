package sys

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Command is a program to run. Secrets never go into args: every user of the
// machine can read them.
type Command struct {
	Path    string // with no slash it is looked for in PATH and the sbin directories
	Args    []string
	Stdin   []byte
	Env     []string      // nil: ours
	Timeout time.Duration // 0: 30 s
	Max     int           // of output kept, in bytes; 0: 1 MiB
}

// Run starts a program in a process group of its own, waits for it and returns
// what it wrote to stdout, also when it failed. At the deadline, or when ctx ends, the whole group
// is killed. An error quotes the command and the end of its stderr. It is the
// only way in which a task starts another program.
func Run(ctx context.Context, c Command) ([]byte, error) {
	path, err := FindProgram(c.Path)
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(c.Timeout, 30*time.Second)
	late := fmt.Errorf("%s did not end within %s and was killed", c.Path, timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()

	limit := cmp.Or(c.Max, 1<<20)
	stdout, stderr := &bounded{max: limit}, &bounded{max: 4096, tail: true}
	cmd := exec.CommandContext(ctx, path, c.Args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = stdout, stderr, c.Env
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// A grandchild outside of the group may hold the pipes open.
	cmd.WaitDelay = time.Second

	err = cmd.Run()
	line := strings.Join(append([]string{c.Path}, c.Args...), " ")
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run `%s`: %w", line, context.Cause(ctx))
	case err != nil && stderr.buf.String() != "":
		return stdout.buf.Bytes(), fmt.Errorf("run `%s`: %w: %s", line, err, LastLines(stderr.buf.String(), 5))
	case err != nil:
		return stdout.buf.Bytes(), fmt.Errorf("run `%s`: %w", line, err)
	case stdout.cut:
		return nil, fmt.Errorf("run `%s`: it wrote more than %d bytes", line, limit)
	}
	return stdout.buf.Bytes(), nil
}

// FindProgram looks in PATH and where a service's PATH may not reach.
func FindProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil && !strings.Contains(name, "/") {
		for _, dir := range []string{"/usr/local/sbin/", "/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"} {
			if path, err := exec.LookPath(dir + name); err == nil {
				return path, nil
			}
		}
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("find %s: it is not installed: %w", name, err)
	case err != nil:
		err = fmt.Errorf("find %s: %w", name, err)
	}
	return path, err
}

// bounded keeps the first or the last bytes written to it and drops the rest.
type bounded struct {
	buf  bytes.Buffer
	max  int
	tail bool
	cut  bool
}

// Write never fails: a program must not die of SIGPIPE for our bound.
func (b *bounded) Write(p []byte) (int, error) {
	b.buf.Write(p)
	switch over := b.buf.Len() - b.max; {
	case over <= 0:
	case b.tail:
		b.cut = true
		b.buf.Next(over)
	default:
		b.cut = true
		b.buf.Truncate(b.max)
	}
	return len(p), nil
}

// LastLines are the last n lines that are not blank, on one line.
func LastLines(s string, n int) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}

// RunLive is [Run] of a program of the running host. [ErrNoLiveState] where none stands behind the
// root.
func RunLive(ctx context.Context, live bool, c Command) ([]byte, error) {
	if !live {
		return nil, fmt.Errorf("run %s: %w", c.Path, ErrNoLiveState)
	}
	return Run(ctx, c)
}
