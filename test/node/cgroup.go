package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hierarchies are the cgroup mounts of this machine: one per controller (v1), one for all (v2), or
// both kinds (hybrid).
func hierarchies() ([]string, error) {
	var dirs []string
	err := eachMount(func(mountPoint, kind string) {
		if (kind == "cgroup" || kind == "cgroup2") && !slices.Contains(dirs, mountPoint) {
			dirs = append(dirs, mountPoint)
		}
	})
	if err == nil && len(dirs) == 0 {
		err = errors.New("no cgroup hierarchy is mounted")
	}
	return dirs, err
}

// makeCgroups makes the group in every hierarchy and returns its directories. Without groups of
// their own all nodes would share one tree.
func makeCgroups(group string) ([]string, error) {
	roots, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var made []string
	for _, root := range roots {
		dir := root
		for part := range strings.SplitSeq(group, "/") {
			if len(roots) == 1 { // v2: children have the controllers that the parent hands down
				controllers, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
				for controller := range strings.FieldsSeq(string(controllers)) {
					os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
				}
			}
			dir = filepath.Join(dir, part)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, fmt.Errorf("making a cgroup: %w", err)
			}
			// v1: a cpuset is empty until filled, and takes no process before.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				if value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file)); err == nil {
					os.WriteFile(filepath.Join(dir, file), value, 0)
				}
			}
		}
		made = append(made, dir)
	}
	return made, nil
}

// removeCgroups kills every process in the group, in all hierarchies, and removes it. These are
// ours alone.
func removeCgroups(group string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err = retry(func() error { return removeTree(filepath.Join(root, group)) }); err != nil {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
	}
	return nil
}

func removeTree(top string) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
			procs, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			for pid := range strings.FieldsSeq(string(procs)) {
				if n, _ := strconv.Atoi(pid); n > 1 {
					unix.Kill(n, unix.SIGKILL)
				}
			}
		}
		return err
	})
	slices.Reverse(dirs)
	for _, dir := range dirs {
		if e := unix.Rmdir(dir); e != nil && e != unix.ENOENT {
			err = errors.Join(err, &fs.PathError{Op: "rmdir", Path: dir, Err: e})
		}
	}
	return err
}
