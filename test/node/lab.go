package node

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/cache"
)

// lab is what one fabric and its nodes put on the machine. All of it is found again by its name:
// the directory <cache>/run/<id>, the mounts below it, the cgroups nwt-<id> and the network
// namespaces nwt-<id>-*. A lock in the directory says that its process lives: what a killed test
// left behind is wiped by the next one.
type lab struct {
	id   string
	dir  string
	lock *os.File
}

const prefix = "nwt-"

func openLab() (*lab, error) {
	root, err := cache.Dir()
	if err != nil {
		return nil, err
	}
	runs := filepath.Join(root, "run")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of runs: %w", err)
	}
	// Sweeping and entering exclude each other, else a new directory could be swept before it is
	// locked.
	door, err := cache.Lock(filepath.Join(root, "run.lock"))
	if err != nil {
		return nil, err
	}
	defer door.Close()
	if err := sweep(runs); err != nil {
		return nil, err
	}
	var id [3]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("making a name: %w", err)
	}
	l := &lab{id: hex.EncodeToString(id[:])}
	l.dir = filepath.Join(runs, l.id)
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of this run: %w", err)
	}
	l.lock, err = cache.Lock(filepath.Join(l.dir, "lock"))
	return l, err
}

// close kills every process of the lab and removes all that it made.
func (l *lab) close() error {
	defer l.lock.Close()
	return wipe(l.id, l.dir)
}

// sweep wipes the labs of processes that are gone.
func sweep(runs string) error {
	entries, err := os.ReadDir(runs)
	if err != nil {
		return fmt.Errorf("listing runs: %w", err)
	}
	for _, entry := range entries {
		dir := filepath.Join(runs, entry.Name())
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
		if err == nil && unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			lock.Close()
			continue // its process lives
		}
		err = wipe(entry.Name(), dir)
		if lock != nil {
			lock.Close()
		}
		if err != nil {
			return fmt.Errorf("sweeping what the killed run %s left: %w", entry.Name(), err)
		}
	}
	return nil
}

func wipe(id, dir string) error {
	err := errors.Join(removeCgroups(prefix+id), unmountBelow(dir), removeNetns(prefix+id))
	if err != nil {
		return err // not the directory: it is how the next sweep finds the rest
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing what a run left: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == "lock" {
			continue // last: without it another process would wipe what we are wiping
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("removing what a run left: %w", err)
		}
	}
	return os.RemoveAll(dir)
}

func unmountBelow(dir string) error {
	var points []string
	err := eachMount(func(mountPoint, _ string) {
		if strings.HasPrefix(mountPoint, dir+"/") {
			points = append(points, mountPoint)
		}
	})
	slices.Reverse(points)
	for _, point := range points {
		if e := retry(func() error { return unix.Unmount(point, 0) }); e != nil {
			err = errors.Join(err, fmt.Errorf("unmounting %s: %w", point, e))
		}
	}
	return err
}

func removeNetns(namePrefix string) error {
	names, _ := filepath.Glob("/run/netns/" + namePrefix + "-*")
	var err error
	for _, name := range names {
		if out, e := exec.Command("ip", "netns", "del", filepath.Base(name)).CombinedOutput(); e != nil {
			err = errors.Join(err, fmt.Errorf("removing a network namespace: %w: %s", e, out))
		}
	}
	return err
}

func eachMount(f func(mountPoint, kind string)) error {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("listing mounts: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		if fields := strings.Fields(before); len(fields) >= 5 {
			kind, _, _ := strings.Cut(after, " ")
			f(fields[4], kind)
		}
	}
	return lines.Err()
}

// retry is for what the kernel finishes a moment after the process is gone: cgroups, mounts and
// links of a dead namespace. The end only ends what hangs.
func retry(f func() error) error {
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := f()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
