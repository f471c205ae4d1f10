package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Operations of the FUSE protocol that a file under a loop device sees
// (https://docs.kernel.org/filesystems/fuse/fuse.html, linux/fuse.h).
const (
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opInterrupt   = 36
	opDestroy     = 38
	opBatchForget = 42
)

const (
	headerIn, headerOut = 40, 16
	maxWrite            = 128 << 10
)

// mountFile mounts a FUSE file system that is one file over the file at path, and returns the
// connection to serve.
func mountFile(path string) (*os.File, error) {
	conn, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open the FUSE device: %w", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=100600,user_id=0,group_id=0,allow_other", conn.Fd())
	if err := unix.Mount("disk", path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, errors.Join(fmt.Errorf("mount the disk's file: %w", err), conn.Close())
	}
	return conn, nil
}

// refusePoll has the kernel ask once whether the file can be polled, and never again. The runtime
// asks it of each file that it opens, in a call during which it runs nothing else on that processor
// and waits for nobody's poll: the goroutine that must answer never came to run.
func refusePoll(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the disk's file: %w", err)
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return fmt.Errorf("poll the disk's file: %w", err)
	}
	return nil
}

// serve answers the kernel until the file is unmounted.
func (r *Recorder) serve() error {
	buf := make([]byte, maxWrite+8192)
	fd := int(r.conn.Fd())
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.ENODEV):
			return nil
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return fmt.Errorf("read a request: %w", err)
		}
		op, unique := binary.LittleEndian.Uint32(buf[4:]), binary.LittleEndian.Uint64(buf[8:])
		if op == opForget || op == opBatchForget || op == opInterrupt {
			continue // wants no answer
		}
		body, errno := r.handle(op, buf[headerIn:n])
		out := make([]byte, headerOut, headerOut+len(body))
		binary.LittleEndian.PutUint32(out, uint32(headerOut+len(body)))
		binary.LittleEndian.PutUint32(out[4:], uint32(-int32(errno)))
		binary.LittleEndian.PutUint64(out[8:], unique)
		if _, err := unix.Write(fd, append(out, body...)); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("answer a request: %w", err)
		}
	}
}

func (r *Recorder) handle(op uint32, in []byte) ([]byte, unix.Errno) {
	le := binary.LittleEndian
	switch op {
	case opInit:
		out := make([]byte, 64)
		le.PutUint32(out, 7)
		le.PutUint32(out[4:], 31)
		le.PutUint32(out[8:], maxWrite)
		le.PutUint32(out[12:], 1<<5) // big writes
		le.PutUint16(out[16:], 16)
		le.PutUint16(out[18:], 12)
		le.PutUint32(out[20:], maxWrite)
		le.PutUint32(out[24:], 1)
		return out, 0
	case opGetattr, opSetattr:
		out := make([]byte, 16+88)
		le.PutUint64(out[16:], 1)
		le.PutUint64(out[24:], uint64(r.size))
		le.PutUint64(out[32:], uint64(r.size/512))
		le.PutUint32(out[16+60:], unix.S_IFREG|0o600)
		le.PutUint32(out[16+64:], 1)
		le.PutUint32(out[16+80:], 4096)
		return out, 0
	case opOpen:
		return make([]byte, 16), 0
	case opRead:
		out := make([]byte, le.Uint32(in[16:]))
		n, _ := r.file.ReadAt(out, int64(le.Uint64(in[8:]))) // short only at the end
		return out[:n], 0
	case opWrite:
		size := le.Uint32(in[16:])
		if errno := r.write(int64(le.Uint64(in[8:])), in[40:40+size]); errno != 0 {
			return nil, errno
		}
		out := make([]byte, 8)
		le.PutUint32(out, size)
		return out, 0
	case opFsync:
		r.flush()
		return nil, 0
	case opRelease, opFlush, opDestroy:
		return nil, 0
	}
	return nil, unix.ENOSYS
}
