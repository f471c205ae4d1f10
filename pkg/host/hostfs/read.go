package hostfs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// MaxReadFile is the size of the largest file that [Files.ReadFile] reads, in bytes. It is twice
// what the ledger of the largest store needs, about 1 KiB for each object. [Files.Sum] has no
// limit.
const MaxReadFile = 64 << 20

// ReadFile implements [Files].
func (f *Reader) ReadFile(name string) ([]byte, error) {
	return look("read", name, func(name string) ([]byte, error) {
		fd, info, err := f.openRegular(name)
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd)
		if info.Size > MaxReadFile {
			return nil, errTooLarge
		}
		data, all, err := readRegular(fd, info.Size, MaxReadFile)
		if err == nil && !all {
			err = errTooLarge
		}
		return data, err
	})
}

// readRegular reads an open file that has this size; the size is 0 in /proc and 4096 in /sys. all
// is false if the file has more than most bytes.
func readRegular(fd int, size, most int64) (data []byte, all bool, err error) {
	buf := make([]byte, size+1)
	n := 0
	for {
		k, err := read(fd, buf[n:])
		if err != nil {
			return nil, false, err
		}
		n += k
		switch {
		case k == 0, int64(n) == size && size > 0:
			return buf[:n:n], true, nil
		case int64(n) > most:
			return nil, false, nil
		case n == len(buf):
			buf = append(buf, make([]byte, max(n, 4096))...)
		}
	}
}

// ReadEnds implements [Files].
func (f *Reader) ReadEnds(name string, most int) (begin, end []byte, err error) {
	err = at("read", name, func(name string) error {
		fd, info, err := f.openRegular(name)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		size := min(int64(most), info.Size)
		begin, err = readAt(fd, size, 0)
		if end = begin; err == nil && info.Size > size {
			end, err = readAt(fd, size, info.Size-size)
		}
		return err
	})
	return begin, end, err
}

func readAt(fd int, size, at int64) (part []byte, err error) {
	buf, n := make([]byte, size), 0
	err = hostpath.Again(func() error { n, err = unix.Pread(fd, buf, at); return err })
	return buf[:max(n, 0)], err
}

var errTooLarge = fmt.Errorf("larger than %d MiB: that is no file of ours and no configuration", MaxReadFile>>20)

// SumOf implements [Files].
func (f *Reader) SumOf(name string, info FileInfo) (blob.Digest, error) {
	if stamps := f.opt.Stamps; stamps != nil && !f.opt.Verify && info.Type == Regular {
		if sum, ok := stamps.Lookup(name, info); ok {
			return sum, nil
		}
	}
	return f.Sum(name)
}

// Sum implements [Files]. It follows a symlink, inside the root.
func (f *Reader) Sum(name string) (blob.Digest, error) {
	return look("hash", name, func(name string) (sum blob.Digest, err error) {
		fd, before, err := f.openRegular(name)
		if err != nil {
			return sum, err
		}
		defer unix.Close(fd)
		stamps := f.opt.Stamps
		if stamps != nil && !f.opt.Verify {
			if sum, ok := stamps.Lookup(name, before); ok {
				return sum, nil
			}
		}
		settled := stamps != nil && Stable(before)
		known := false
		if f.opt.Prefetched != nil {
			sum, known = f.opt.Prefetched.Take(name, before)
		}
		if !known {
			sum, err = sumOf(fd, before.Size)
		}
		if err != nil || stamps == nil {
			return sum, err
		}
		// The digest is not recorded if the file changed while it was read, or just before, or if
		// its metadata would not show a change.
		switch after, err := hostpath.Fstat(fd); {
		case err != nil || after != before || OfImage(fd, after):
		case !settled:
			f.racy.add(name, after)
		default:
			stamps.Record(name, after, sum)
		}
		return sum, nil
	})
}

// openRegular opens a regular file for reading. It never blocks on a pipe.
func (f *Reader) openRegular(name string) (int, FileInfo, error) {
	fd, err := f.Paths.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return -1, FileInfo{}, err
	}
	info, err := hostpath.Fstat(fd)
	switch {
	case err != nil:
	case info.Type == Directory:
		err = unix.EISDIR
	case info.Type != Regular:
		err = errors.New("not a regular file")
	case f.Paths.IsStrict():
		err = singleName(name, info)
	}
	if err == nil {
		return fd, info, nil
	}
	unix.Close(fd)
	return -1, FileInfo{}, err
}

// sumOf reads a file from its current offset to its end. size selects the buffer: 1 MiB needs few
// calls for a large file, but is too much memory for a small one.
func sumOf(fd int, size int64) (sum blob.Digest, err error) {
	if size < smallFile {
		var buf [smallFile]byte
		if n, err := read(fd, buf[:]); err != nil || int64(n) == size {
			return sha256.Sum256(buf[:n]), err
		}
		if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
			return sum, err
		}
	}
	buf, h := chunks.Get().(*[chunk]byte), sha256.New()
	defer chunks.Put(buf)
	for {
		n, err := read(fd, buf[:])
		if err != nil || n == 0 {
			return digestOf(h), err
		}
		h.Write(buf[:n])
	}
}

// A chunk is the buffer for large files and for archives.
const chunk, smallFile = 1 << 20, 8 << 10

var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

func digestOf(h hash.Hash) (sum blob.Digest) {
	h.Sum(sum[:0])
	return sum
}

func read(fd int, buf []byte) (n int, err error) {
	err = hostpath.Again(func() error { n, err = unix.Read(fd, buf); return err })
	return max(n, 0), err
}
