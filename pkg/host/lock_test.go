package host

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
)

const lockRoot = "NETWRIGHT_TEST_LOCK_ROOT"

// TestHoldsLock is the other process of the tests below: it holds the lock until it dies.
func TestHoldsLock(t *testing.T) {
	root := os.Getenv(lockRoot)
	if root == "" {
		t.Skip("runs only as the child of the other tests")
	}
	if _, err := lock(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	fmt.Println("held")
	select {}
}

func lock(ctx context.Context, root string) (func(), error) {
	return Lock(ctx, Options{Root: root}, "/run/netwright/lock")
}

// holder starts a process that holds the lock.
func holder(t *testing.T, root string) *exec.Cmd {
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
	other := holder(t, root)
	synctest.Test(t, func(t *testing.T) { // half a minute of waiting takes no time here
		_, err := lock(t.Context(), root)
		if err == nil || !strings.Contains(err.Error(), "pid "+strconv.Itoa(other.Process.Pid)+";") {
			t.Errorf("err = %v; want one that names pid %d", err, other.Process.Pid)
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
	root := t.TempDir()
	other := holder(t, root)
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
