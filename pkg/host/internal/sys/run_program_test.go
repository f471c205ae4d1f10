package sys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	out, err := Run(t.Context(), Command{Path: "cat", Stdin: []byte("hello")})
	if err != nil || string(out) != "hello" {
		t.Errorf("Run returns %q, %v, want %q", out, err, "hello")
	}
	_, err = Run(t.Context(), Command{Path: "sh", Args: []string{"-c", "echo one >&2; echo; echo two >&2; exit 3"}})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(err.Error(), "sh -c") || !strings.HasSuffix(err.Error(), "one; two") {
		t.Errorf("a failure: %v", err)
	}
	if _, err = Run(t.Context(), Command{Path: "no-such-program"}); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("an absent program: %v", err)
	}
	if _, err = Run(t.Context(), Command{Path: "sh", Args: []string{"-c", "head -c 100 /dev/zero"}, Max: 10}); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("too much output: %v", err)
	}
}

func TestRunKillsTheGroup(t *testing.T) {
	pidfile := t.TempDir() + "/pid"
	script := fmt.Sprintf("sleep 1000 & echo $! > %s.new; mv %s.new %s; wait", pidfile, pidfile, pidfile)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("too late")
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(pidfile); err == nil {
				cancel(late)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if _, err := Run(ctx, Command{Path: "sh", Args: []string{"-c", script}}); !errors.Is(err, late) {
		t.Fatalf("a program that does not end: %v", err)
	}
	raw, err := os.ReadFile(pidfile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for range 6000 { // only so that a broken test ends
		if state(pid) == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the grandchild %d lives on", pid)
}

// state returns a process's state, "" when it is dead or waits for its parent.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || syscall.Kill(pid, 0) != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	if rest == "" || rest[0] == 'Z' {
		return ""
	}
	return rest[:1]
}

func TestRunDeadline(t *testing.T) {
	_, err := Run(t.Context(), Command{Path: "sleep", Args: []string{"1000"}, Timeout: time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("a program that does not end: %v", err)
	}
}

func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the agent stops")
	cancel(cause)
	if _, err := Run(ctx, Command{Path: "sleep", Args: []string{"1000"}}); !errors.Is(err, cause) {
		t.Errorf("want the cause, got %v", err)
	}
}

func TestBounded(t *testing.T) {
	for _, tail := range []bool{false, true} {
		b := &bounded{max: 5, tail: tail}
		for _, s := range []string{"ab", "cdefgh", "ij"} {
			if n, err := b.Write([]byte(s)); n != len(s) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
		}
		want := "abcde"
		if tail {
			want = "fghij"
		}
		if b.buf.String() != want || !b.cut {
			t.Errorf("tail %v kept %q", tail, b.buf.String())
		}
	}
}
