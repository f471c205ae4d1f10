package sys

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadKernelFile reads a small file of procfs or sysfs with four system calls. [os.ReadFile] makes
// nine: it registers the file with the poller, which procfs half supports, and asks for a size
// that is always 0.
func ReadKernelFile(path string) ([]byte, error) {
	fd, err := OpenRetry(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, kernelBuffer)
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

// kernelBuffer has room for most files of the kernel's.
const kernelBuffer = 512

// ReadKernelValue reads a file that has one value, a sysctl or an attribute of sysfs, with three
// system calls.
func ReadKernelValue(path string) ([]byte, error) {
	fd, err := OpenRetry(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return ReadOpenValue(fd, make([]byte, kernelBuffer))
}

// ReadOpenValue reads the value of an open file into room, or into a larger buffer, with one system
// call where it has room. The kernel gives the whole value to a buffer that has room for it; of
// what has no room it gives the rest of some sysctls and not of others
// (net.ipv4.ip_local_reserved_ports: proc_do_large_bitmap). So what fills the buffer is read again
// from its begin, into a larger one.
func ReadOpenValue(fd int, room []byte) ([]byte, error) {
	for {
		n, err := unix.Pread(fd, room, 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n < len(room):
			return room[:n], nil
		default:
			room = make([]byte, 2*len(room))
		}
	}
}

// OpenRetry opens a file and starts again when a signal came between.
func OpenRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// WriteKernelFile writes a value. The kernel takes it with the first write; of a list of ranges it
// takes about a page with each, up to a comma, and adds it to those before (kernel/sysctl.c,
// proc_do_large_bitmap). Elsewhere a second write is ignored, or begins with the first field again
// (kernel.sysctl_writes_strict), so what the kernel leaves of another value is an error.
func WriteKernelFile(path, value string) error {
	// O_TRUNC makes procfs take the write as a whole new value whatever
	// kernel.sysctl_writes_strict says.
	fd, err := OpenRetry(path, unix.O_WRONLY|unix.O_TRUNC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	data := []byte(value + "\n")
	for {
		n, err := unix.Write(fd, data)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == len(data):
			return nil
		case n > 0 && data[n-1] == ',':
			data = data[n:]
		default:
			return fmt.Errorf("the kernel took only %d of %d bytes: %w", n, len(data), unix.EINVAL)
		}
	}
}

// FoldSpace makes the kernel's tabs and line ends one space each, and none at
// the ends.
func FoldSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// mountEscapes are how the kernel writes what separates fields and lines of a list of mounts
// (fs/proc_namespace.c, show_mountinfo).
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)

// UnescapeMount is a mount point as it is.
func UnescapeMount(s string) string { return mountEscapes.Replace(s) }
