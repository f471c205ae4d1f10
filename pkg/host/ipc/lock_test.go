package ipc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/test/rerun"
)

const lockRoot = "NETWRIGHT_TEST_LOCK_ROOT"

// TestHoldsLock is the other process of the tests below. It holds the lock until it dies.
func TestHoldsLock(t *testing.T) {
	root := os.Getenv(lockRoot)
	if root == "" {
		t.Skip("runs only as the child of the other tests")
	}
	unlock, err := lock(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock() // otherwise the file would be garbage, and closed
	fmt.Println("held")
	for { // a process without a timer counts as deadlocked
		time.Sleep(time.Hour)
	}
}

func lock(ctx context.Context, root string) (func(), error) {
	return Lock(ctx, hostfs.Options{Root: root}, "/run/netwright/lock", nil)
}

// lockHolder starts a process that holds the lock.
func lockHolder(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestHoldsLock$", "-test.v")
	cmd.Env = append(os.Environ(), lockRoot+"="+root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasSuffix(lines.Text(), "held") {
			return cmd
		}
	}
	t.Fatal("the other process did not get the lock")
	return nil
}

func TestLockNamesItsHolder(t *testing.T) {
	root := t.TempDir()
	other := lockHolder(t, root)
	synctest.Test(t, func(t *testing.T) { // half a minute of the wait takes no time here
		_, err := lock(t.Context(), root)
		// The line that keeps it: lock.go, lockOwner.
		want := fmt.Sprintf("pid %d (%s), running since 2", other.Process.Pid, strings.Join(other.Args, " "))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("err = %v; want one that says %q", err, want)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a person gets the reason soon, and once
		var told []string
		_, err := Lock(t.Context(), hostfs.Options{Root: root}, "/run/netwright/lock", func(who LockOwner) { told = append(told, who.String()) })
		if err == nil || len(told) != 1 || !strings.Contains(told[0], "pid "+strconv.Itoa(other.Process.Pid)) {
			t.Errorf("err = %v, told %q; want pid %d told once", err, told, other.Process.Pid)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("somebody pressed Ctrl-C"))
		if _, err := lock(ctx, root); err == nil || !strings.Contains(err.Error(), "Ctrl-C") {
			t.Errorf("err = %v; want the cause of the cancellation", err)
		}
	})
}

func TestLockIsFreeWhenItsHolderIsKilled(t *testing.T) {
	rerun.Never(t, "it kills the holder")
	root := t.TempDir()
	other := lockHolder(t, root)
	if err := other.Process.Kill(); err != nil { // SIGKILL: nothing of it runs any more
		t.Fatal(err)
	}
	_ = other.Wait()
	unlock, err := lock(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	again, err := lock(t.Context(), root)
	if err != nil {
		t.Fatalf("after unlock: %v", err)
	}
	again()
}

// A lock whose file was removed counts no more. A process that waited for it takes the lock that
// others see. The line that keeps it: lock.go, removed.
func TestLockIsTheOneThatOthersSee(t *testing.T) {
	root := t.TempDir()
	other := lockHolder(t, root)
	got := make(chan error, 1)
	opened := make(chan struct{})
	go func() {
		unlock, err := Lock(t.Context(), hostfs.Options{Root: root}, "/run/netwright/lock", func(LockOwner) { close(opened) })
		if err == nil {
			defer unlock()
			_, err = os.Lstat(filepath.Join(root, "run/netwright/lock"))
		}
		got <- err
	}()
	<-opened // it waits for the file that is removed now
	if err := os.RemoveAll(filepath.Join(root, "run/netwright")); err != nil {
		t.Fatal(err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Errorf("the lock that was taken has no name: %v", err)
	}
}

func TestLockStaysBelowTheRoot(t *testing.T) {
	outside := t.TempDir()
	for name, link := range map[string]string{"the lock": "run/netwright/lock", "its directory": "run"} {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(outside, "x"), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
		if unlock, err := lock(t.Context(), root); err == nil {
			unlock()
			t.Errorf("%s is a dangling link, and was locked all the same", name)
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
			t.Errorf("%s leads out of the root, and was followed: %v %v", name, left, err)
		}
	}
}
