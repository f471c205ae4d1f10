package rtnl

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// netnsDir has the files of named network namespaces (ip-netns(8)).
const netnsDir = "/run/netns"

// NetNSFile returns the path of a named network namespace, which need not exist.
func NetNSFile(name string) string { return filepath.Join(netnsDir, name) }

// AddNetNS creates a network namespace with the loopback up. It binds the namespace to
// /run/netns/NAME and returns this path; `ip netns` lists it. It fails if the name exists. It needs
// CAP_SYS_ADMIN.
func (w *Writer) AddNetNS(ctx context.Context, name string) (string, error) {
	if err := w.net.ready(ctx); err != nil {
		return "", err
	}
	if name == "" || strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
		return "", fmt.Errorf("make network namespace %q: that cannot be a file's name", name)
	}
	path := NetNSFile(name)
	dir, _, err := w.files.Paths.OpenDir(netnsDir, true)
	if err != nil {
		return "", fmt.Errorf("make network namespace %s: %w", name, err)
	}
	defer unix.Close(dir)
	file, err := hostpath.OpenAt(dir, name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return "", hostpath.Explain("make network namespace", path, err)
	}
	defer unix.Close(file)
	err = sys.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := plugIn(&netlink.Handle{}, "lo", nil); err != nil {
			return err
		}
		if err := unix.Mount("/proc/thread-self/ns/net", fmt.Sprintf("/proc/thread-self/fd/%d", file), "none",
			unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind it to %s: %w", path, err)
		}
		return nil
	})
	if err != nil {
		return "", errors.Join(fmt.Errorf("make network namespace %s: %w", name, err), unix.Unlinkat(dir, name, 0))
	}
	sys.Changed(w.log, "network namespace made", zap.String("name", name))
	return path, nil
}

// DelNetNS removes the file that [Writer.AddNetNS] made; a missing file is success. The kernel
// removes the namespace when nothing uses it any more.
func (w *Writer) DelNetNS(ctx context.Context, name string) error {
	if err := w.net.ready(ctx); err != nil {
		return err
	}
	path := NetNSFile(name)
	if err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) &&
		!errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove network namespace %s: %w", name, err)
	}
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("remove network namespace %s: %w", name, err)
	}
	sys.Changed(w.log, "network namespace removed", zap.String("name", name))
	return nil
}

// InNetNS runs f in the network namespace of a file, on a thread of its own, which ends with f.
// With "" it runs f in the process' namespace. Sockets that f opens stay in that namespace;
// goroutines that f starts do not run in it. It needs CAP_SYS_ADMIN unless path is "".
func InNetNS(path string, f func() error) error {
	if path == "" {
		return f()
	}
	ns, err := blob.Open(path)
	if err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	defer ns.Close()
	return sys.OnThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace %s: %w", path, err)
		}
		return f()
	})
}
