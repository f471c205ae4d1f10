package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// stage is the directory in which the new root is built: every host has it, and a tmpfs covers it
// in this mount namespace only.
const stage = "/tmp"

// changeRoot replaces / by an overlay of it that writes to memory. /proc/sys is read-only except
// net/, which belongs to the network namespace. /run is empty, so that no socket of the host can be
// reached.
func changeRoot(keep []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	kept, err := cloneTrees(append([]string{"/dev"}, keep...))
	if err != nil {
		return err
	}
	disks, err := diskMounts()
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", stage, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mount a tmpfs on %s: %w", stage, err)
	}
	root := stage + "/root"
	for i, at := range disks {
		err := overlayOver(at, filepath.Join(root, at), fmt.Sprintf("%s/%d", stage, i))
		if errors.Is(err, os.ErrNotExist) && !isDir(at) {
			continue // its directory was removed, which removes the mount everywhere
		}
		if err != nil {
			return err
		}
	}
	if err := systemMounts(root); err != nil {
		return err
	}
	for _, tree := range kept {
		if err := tree.attach(root); err != nil {
			return err
		}
	}
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	// With "." for both paths, the old root is stacked under the new one, and the unmount removes
	// it.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// diskMounts lists the mount points of disk file systems: /, and those below it outside of the
// system directories; parents first.
func diskMounts() ([]string, error) {
	list, err := sys.ReadKernelFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	disks := []string{"/"}
	for at, kind := range sys.Mounts(list) {
		if onDisk(kind) && !slices.Contains(disks, at) && !inSystem(at) && isDir(at) {
			disks = append(disks, at)
		}
	}
	slices.SortFunc(disks, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return disks, nil
}

func onDisk(kind string) bool {
	return slices.Contains([]string{"ext4", "ext3", "xfs", "btrfs", "overlay", "zfs", "f2fs", "erofs", "squashfs"},
		kind)
}

func inSystem(path string) bool {
	return slices.ContainsFunc([]string{"/proc", "/sys", "/dev", "/run", stage},
		func(dir string) bool { return strings.HasPrefix(path+"/", dir+"/") })
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

func overlayOver(lower, at, scratch string) error {
	for _, dir := range []string{at, scratch + "/upper", scratch + "/work"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("prepare the overlay of %s: %w", lower, err)
		}
	}
	opts := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", lowerdir.Replace(lower), scratch, scratch)
	if err := unix.Mount("overlay", at, "overlay", 0, opts); err != nil {
		return fmt.Errorf("mount an overlay of %s: %w", lower, err)
	}
	return nil
}

// lowerdir escapes the separators of directories and options in a path
// (https://docs.kernel.org/filesystems/overlayfs.html#multiple-lower-layers).
var lowerdir = strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`)

// systemMounts mounts proc, sys, run and tmp in the new root.
func systemMounts(root string) error {
	for _, m := range []struct {
		kind, at, data string
		flags          uintptr
	}{
		{"proc", "/proc", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{"sysfs", "/sys", "", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY},
		{"tmpfs", "/run", "mode=0755", unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", "/tmp", "mode=1777", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		at := root + m.at
		if err := os.MkdirAll(at, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", m.at, err)
		}
		if err := unix.Mount(m.kind, at, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	return sealSysctls(root + "/proc/sys")
}

// sealSysctls makes all sysctls read-only except those of the network namespace.
func sealSysctls(sys string) error {
	net, err := cloneTrees([]string{sys + "/net"})
	if err != nil {
		return err
	}
	if err := unix.Mount(sys, sys, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind /proc/sys: %w", err)
	}
	if err := unix.Mount("", sys, "",
		unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("make /proc/sys read-only: %w", err)
	}
	return net[0].attach("")
}

// tree is a detached copy of a mounted directory tree.
type tree struct {
	fd   int
	path string
}

func cloneTrees(paths []string) ([]tree, error) {
	var out []tree
	for _, path := range paths {
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("copy the mount of %s: %w", path, err)
		}
		out = append(out, tree{fd, path})
	}
	return out, nil
}

// attach mounts the tree at its path below root.
func (t tree) attach(root string) error {
	defer unix.Close(t.fd) // the mount stays
	at := root + t.path
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", t.path, err)
	}
	if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", t.path, err)
	}
	return nil
}
