package host

import (
	"bytes"
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"
)

// MaxCompare is the size of the largest content that [Files.Holds] compares, in bytes.
const MaxCompare = 16 << 10

var compared = sync.Pool{New: func() any { return new([MaxCompare + 1]byte) }}

// Holds implements [Files]. The file is read into memory that the next call reads into: of ten thousand files nothing is left over.
func (f *files) Holds(name string, content []byte) (bool, error) {
	name, err := clean("compare", name)
	if err != nil {
		return false, err
	}
	if len(content) > MaxCompare {
		return false, &fs.PathError{Op: "compare", Path: name, Err: unix.EFBIG}
	}
	fd, err := f.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false, explain("compare", name, err)
	}
	defer unix.Close(fd)
	buf := compared.Get().(*[MaxCompare + 1]byte)
	defer compared.Put(buf)
	have := 0
	for have <= len(content) {
		n, err := read(fd, buf[have:len(content)+1])
		if err != nil {
			return false, explain("compare", name, err)
		}
		if n == 0 {
			break
		}
		have += n
	}
	return bytes.Equal(buf[:have], content), nil
}
