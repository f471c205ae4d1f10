// Package cache keeps the parts of tests that take long to build: root file systems, disk images,
// servers of other projects.
//
// Like Go's build cache, it is in the user's cache directory, and all checkouts share it:
// $NETWRIGHT_CACHE, else $XDG_CACHE_HOME/netwright or ~/.cache/netwright. The hash of its recipe is
// in the name of each entry, so a checkout with another recipe builds its own entry. A person may
// delete everything at any time, except while tests run.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is the root of the cache. It makes the directory if that is absent.
func Dir() (string, error) {
	dir := os.Getenv("NETWRIGHT_CACHE")
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding a cache directory (set NETWRIGHT_CACHE to one): %w", err)
		}
		dir = filepath.Join(user, "netwright")
	}
	dir, err := filepath.Abs(dir) // mounts take no relative paths
	if err != nil {
		return "", fmt.Errorf("finding the cache directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the cache directory (set NETWRIGHT_CACHE to one that can be written): %w", err)
	}
	return dir, nil
}

// Key hashes everything that decides the result of a build.
func Key(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// Built returns the directory <name>-<key>. If the directory is absent, Built calls build, which
// fills another directory. Built renames that one when build returns nil, so every entry of the
// cache is complete. If several processes ask, one builds and the others wait.
func Built(t testing.TB, name, key string, build func(dir string) error) string {
	t.Helper()
	dir, err := built(name, key, build, t.Logf)
	if err != nil {
		t.Fatalf("building %s: %v", name, err)
	}
	return dir
}

func built(name, key string, build func(dir string) error, logf func(string, ...any)) (string, error) {
	root, err := Dir()
	if err != nil {
		return "", err
	}
	done := filepath.Join(root, name+"-"+key)
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	lock, err := Lock(filepath.Join(root, name+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	// We hold the lock: temporary directories of this name were left by builds that were killed.
	stale, _ := filepath.Glob(filepath.Join(root, name+".tmp-*"))
	for _, dir := range stale {
		os.RemoveAll(dir)
	}
	tmp, err := os.MkdirTemp(root, name+".tmp-")
	if err != nil {
		return "", fmt.Errorf("making a directory to build in: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", fmt.Errorf("opening the build directory to readers: %w", err)
	}
	start := time.Now()
	if err := politely(func() error { return build(tmp) }); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, done); err != nil {
		return "", fmt.Errorf("publishing the build: %w", err)
	}
	logf("built %s in %s", done, time.Since(start).Round(100*time.Millisecond))
	return done, nil
}

// politely calls do on a thread of low priority, which the programs that it starts inherit: a build
// must not hold up the tests that run beside it.
func politely(do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const low = 5
	was, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // 20 less the niceness
	if err == nil && unix.Setpriority(unix.PRIO_PROCESS, 0, low) == nil {
		defer unix.Setpriority(unix.PRIO_PROCESS, 0, 20-was) // who is not root stays low: no matter
	}
	return do()
}

// Lock takes an exclusive lock on the file at path, and waits while another process has it. Close
// releases the lock, and so does the end of the process.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return file, nil
}
