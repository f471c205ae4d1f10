package host

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// readKernelFile reads a small file of procfs or sysfs with three system
// calls. [os.ReadFile] makes six: it registers the file with the poller,
// which procfs half supports, and asks for a size that is always 0.
func readKernelFile(path string) ([]byte, error) {
	fd, err := openRetry(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 512)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return buf, nil
		}
		buf = buf[:len(buf)+n]
	}
}

// openRetry opens a file and starts again when a signal came between.
func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// writeKernelFile writes a value in one system call, as procfs wants it.
func writeKernelFile(path, value string) error {
	// O_TRUNC makes procfs take the write as a whole new value whatever
	// kernel.sysctl_writes_strict says.
	fd, err := openRetry(path, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	data := []byte(value + "\n")
	for {
		n, err := unix.Write(fd, data)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n != len(data):
			return fmt.Errorf("the kernel took only %d of %d bytes: %w", n, len(data), unix.EINVAL)
		}
		return nil
	}
}

// foldSpace makes the kernel's tabs and line ends one space each, and none at
// the ends.
func foldSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// unescapeMount undoes the kernel's \040 for space, tab, newline and backslash.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
