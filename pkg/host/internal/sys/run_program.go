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

// Command is a program to run. Args must not contain secrets: every user of the machine can read
// them.
type Command struct {
	Path    string // without a slash: searched in PATH and the sbin directories
	Args    []string
	Stdin   []byte
	Env     []string      // nil: the environment of this process
	Timeout time.Duration // 0: 30 s
	Max     int           // limit for the output in bytes; 0: 1 MiB
}

// Run starts a program in a process group of its own and waits for it. It returns what the program
// wrote to stdout, also if it failed. At the timeout, or when ctx ends, Run kills the whole group.
// An error has the command and the end of its stderr. Tasks start other programs only by Run.
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
	// A grandchild outside the group may keep the pipes open.
	cmd.WaitDelay = time.Second

	err = cmd.Run()
	line := strings.Join(append([]string{c.Path}, c.Args...), " ")
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("run `%s`: %w", line, context.Cause(ctx))
	case err != nil && stderr.buf.String() != "":
		return stdout.buf.Bytes(), fmt.Errorf("run `%s`: %w: %s", line, err, LastLines(stderr.buf.String()))
	case err != nil:
		return stdout.buf.Bytes(), fmt.Errorf("run `%s`: %w", line, err)
	case stdout.cut:
		return nil, fmt.Errorf("run `%s`: it wrote more than %d bytes", line, limit)
	}
	return stdout.buf.Bytes(), nil
}

// FindProgram searches PATH, and directories that the PATH of a service may lack.
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

// bounded stores the first or the last bytes written to it and drops the rest.
type bounded struct {
	buf  bytes.Buffer
	max  int
	tail bool
	cut  bool
}

// Write never fails, because a program must not die of SIGPIPE when the limit is reached.
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

// QuotedLines is the number of lines of another program that an error quotes.
const QuotedLines = 5

// LastLines joins the last [QuotedLines] that are not blank.
func LastLines(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-QuotedLines):], "; ")
}

// RunLive is [Run] on the running host. It returns [ErrNoLiveState] if the root has no running
// kernel.
func RunLive(ctx context.Context, live bool, c Command) ([]byte, error) {
	if !live {
		return nil, fmt.Errorf("run %s: %w", c.Path, ErrNoLiveState)
	}
	return Run(ctx, c)
}
