package sys

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadKernelFile reads a small file of procfs or sysfs with four system calls. [os.ReadFile] makes
// nine: it registers the file with the poller, which procfs supports only partly, and reads the
// size, which is always 0.
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

// kernelBuffer is large enough for most files of the kernel.
const kernelBuffer = 512

// ReadKernelValue reads a file with one value, a sysctl or an attribute of sysfs, with three system
// calls.
func ReadKernelValue(path string) ([]byte, error) {
	fd, err := OpenRetry(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return ReadOpenValue(fd, make([]byte, kernelBuffer))
}

// ReadOpenValue reads the value of an open file into room, or into a larger buffer if room is too
// small. If room is large enough, it makes one system call. The kernel returns a whole value only
// if the buffer is large enough. For a smaller buffer, some sysctls return the rest at the next
// read, others do not (net.ipv4.ip_local_reserved_ports: proc_do_large_bitmap). So if the buffer
// becomes full, the value is read again from the start into a larger buffer.
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

// OpenRetry opens a file and repeats the call if a signal interrupts it.
func OpenRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// WriteKernelFile writes a value. The kernel takes it with the first write. If the value is a list
// of ranges, the kernel takes about a page with each write, up to a comma, and adds it to the
// earlier ones (kernel/sysctl.c, proc_do_large_bitmap). For other keys a second write is ignored,
// or starts with the first field again (kernel.sysctl_writes_strict), so a partial write is an
// error.
func WriteKernelFile(path, value string) error {
	// O_TRUNC makes procfs take the write as a new value, regardless of
	// kernel.sysctl_writes_strict.
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

// FoldSpace replaces each run of white space by one space, and removes it at both ends.
func FoldSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// mountEscapes are the kernel's escapes for the separators of fields and lines in a list of mounts
// (fs/proc_namespace.c, show_mountinfo).
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)

// UnescapeMount returns a mount point without escapes.
func UnescapeMount(s string) string { return mountEscapes.Replace(s) }
