// Package netns gives a test its own network namespaces, so that the test has a real kernel and
// nothing of the machine's network.
package netns

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"golang.org/x/sys/unix"
)

// NS is a network namespace that exists until its test ends.
type NS struct {
	t    testing.TB
	fd   *os.File
	lock string
}

// New makes a namespace with the loopback up. It needs root and ip.
func New(t testing.TB) *NS {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "ip")
	n := &NS{t: t, lock: filepath.Join(t.TempDir(), "xtables.lock")}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		var err error
		n.fd, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		t.Fatalf("make a network namespace: %v", err)
	}
	t.Cleanup(func() { _ = n.fd.Close() })
	n.Run("ip", "link", "set", "lo", "up")
	return n
}

// Path is a file that stands for the namespace in setns and in ip.
func (n *NS) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.fd.Fd()) }

// Do runs body in the namespace, on a separate thread, and returns when body has returned.
// Goroutines that body starts run outside the namespace. Fatal and Skip work in body.
func (n *NS) Do(body func()) {
	n.t.Helper()
	finished := false
	err := onThread(func() error {
		if err := unix.Setns(int(n.fd.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		body()
		finished = true
		return nil
	})
	switch {
	case err != nil:
		n.t.Fatalf("enter a network namespace: %v", err)
	case finished:
	case n.t.Skipped():
		n.t.SkipNow() // as body did, but on the test's own goroutine
	default:
		n.t.FailNow()
	}
}

// Try runs a command in the namespace, and returns its output on both streams.
func (n *NS) Try(name string, args ...string) (string, error) {
	n.t.Helper()
	needs.Tool(n.t, name)
	var out []byte
	var err error
	n.Do(func() {
		cmd := exec.Command(needs.Path(name), args...)
		// iptables has one lock for all namespaces of a machine, and fails when another test has
		// it.
		cmd.Env = append(os.Environ(), "XTABLES_LOCKFILE="+n.lock)
		out, err = cmd.CombinedOutput()
	})
	return string(out), err
}

// Run is [NS.Try] for a command that must succeed.
func (n *NS) Run(name string, args ...string) string {
	n.t.Helper()
	out, err := n.Try(name, args...)
	if err != nil {
		n.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

// IP runs ip(8) with each line.
func (n *NS) IP(lines ...string) {
	n.t.Helper()
	for _, line := range lines {
		n.Run("ip", strings.Fields(line)...)
	}
}

// IPJSON returns the output of `ip -j ARGS`, which is independent of our code.
func (n *NS) IPJSON(args ...string) (out []map[string]any) {
	n.t.Helper()
	if err := json.Unmarshal([]byte(n.Run("ip", append([]string{"-j", "-d"}, args...)...)), &out); err != nil {
		n.t.Fatal(err)
	}
	return out
}

// onThread runs f on a thread that dies with it. The first thread of the
// process is left alone: /proc/self is it.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			done <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		var err error
		defer func() { done <- err }()
		err = f()
	}()
	return <-done
}
