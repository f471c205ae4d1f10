package hostfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// OpenQuietly opens a file or a directory of a root to read it, and leaves its time of access as it
// is where that is allowed. It waits for nobody's end of a pipe.
func OpenQuietly(root *os.Root, name string) (*os.File, error) {
	return quietly(func(more int) (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|more, 0) })
}

// quietly opens something to read it, and leaves its time of access as it is: a node on which
// nothing happens is not written to by those who look at it. The kernel would note the first look
// after each change, and one a day (mount(8), relatime), and each note is a block for the disk. To
// leave it is for the owner and for CAP_FOWNER (open(2), O_NOATIME); for anybody else it is opened
// as usual. open gets flags to add to its own.
func quietly[T any](open func(more int) (T, error)) (T, error) {
	out, err := open(unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) {
		return open(0)
	}
	return out, err
}
