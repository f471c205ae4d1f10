package hostfs

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// copyLabels copies the SELinux label and the user attributes of the file that
// is replaced. A new file has the label that the policy gives it in its directory.
// Not copied: capabilities, IMA and EVM, which belong to the old content, and ACLs, since
// the mode that is asked for is all the access there shall be.
func copyLabels(dir int, base string, to int) error {
	from, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // unreadable to us or gone: it has no label that we could keep
	}
	defer unix.Close(from)
	list, err := attributes(from)
	if err != nil || list == "" {
		return err
	}
	for attr := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		if attr != "security.selinux" && !strings.HasPrefix(attr, "user.") {
			continue
		}
		value, ok := attribute(from, attr)
		if !ok {
			continue // removed meanwhile, or not ours to see
		}
		err = unix.Fsetxattr(to, attr, value, 0)
		if attr == "security.selinux" && errors.Is(err, unix.EPERM) {
			continue // the label is of a policy that does not run: else it would be SELinux that judges, and EACCES
		}
		if err != nil && !errors.Is(err, unix.ENOTSUP) {
			return err
		}
	}
	return nil
}

// attributes lists the names of a file's extended attributes, each ended by NUL.
func attributes(fd int) (string, error) {
	n, err := unix.Flistxattr(fd, nil)
	if errors.Is(err, unix.ENOTSUP) || n == 0 && err == nil {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	buf := make([]byte, n+1024)
	n, err = unix.Flistxattr(fd, buf)
	return string(buf[:max(n, 0)]), err
}
