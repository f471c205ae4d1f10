package disk

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Recorder is a disk that records its writes in their order.
type Recorder struct {
	size   int64
	base   string // the disk as it was when recording began
	file   *os.File
	conn   *os.File
	served chan error

	mu        sync.Mutex
	recording bool
	events    []event
}

// event is a write, or a flush, which has no data.
type event struct {
	at   int64
	data []byte
}

// New makes a disk from an image, and does not write to the image. It puts its own files into dir.
func New(dir, image string) (*Recorder, error) {
	r := &Recorder{base: filepath.Join(dir, "base"), served: make(chan error, 1)}
	now, front := filepath.Join(dir, "now"), filepath.Join(dir, "disk")
	if err := errors.Join(CopySparse(image, now), os.WriteFile(front, nil, 0o600)); err != nil {
		return nil, fmt.Errorf("prepare the disk: %w", err)
	}
	var err error
	if r.file, err = os.OpenFile(now, os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("open the disk: %w", err)
	}
	info, err := r.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the disk: %w", err)
	}
	r.size = info.Size()
	if r.conn, err = mountFile(front); err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	go func() { r.served <- r.serve() }()
	if err := refusePoll(front); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Path is the file to put below a loop device.
func (r *Recorder) Path() string { return filepath.Join(filepath.Dir(r.base), "disk") }

// Close ends the disk. Nothing of it may be mounted any more.
func (r *Recorder) Close() error {
	err := unix.Unmount(r.Path(), unix.MNT_DETACH)
	select {
	case serr := <-r.served:
		err = errors.Join(err, serr)
	case <-time.After(time.Minute):
		err = errors.Join(err, errors.New("close the disk: something still uses it"))
	}
	return errors.Join(err, r.conn.Close(), r.file.Close())
}

// Record begins a recording. Every image begins with the present content of the disk.
func (r *Recorder) Record() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.recording = nil, true
	return CopySparse(r.file.Name(), r.base)
}

// Len is the number of events that were recorded until now. It stands for a moment in the
// recording.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events)
}

// Stop ends the recording.
func (r *Recorder) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recording = false
}

func (r *Recorder) write(at int64, data []byte) unix.Errno {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.WriteAt(data, at); err != nil {
		return unix.EIO
	}
	if r.recording {
		r.events = append(r.events, event{at, append([]byte(nil), data...)})
	}
	return 0
}

func (r *Recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recording {
		r.events = append(r.events, event{})
	}
}

// Image writes the disk as it is if the power fails at a moment. The image has every write before
// the last flush. If cache is nil, it also has all later writes; otherwise cache decides at random
// about each of them.
func (r *Recorder) Image(path string, moment int, cache *rand.Rand) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := CopySparse(r.base, path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the image: %w", err)
	}
	flushed := 0
	for i, e := range r.events[:moment] {
		if e.data == nil {
			flushed = i
		}
	}
	for i, e := range r.events[:moment] {
		if e.data == nil || i > flushed && cache != nil && cache.IntN(2) == 0 {
			continue
		}
		if _, err := f.WriteAt(e.data, e.at); err != nil {
			return errors.Join(fmt.Errorf("write the image: %w", err), f.Close())
		}
	}
	return f.Close()
}

// CopySparse copies a file and keeps its holes.
func CopySparse(from, to string) error {
	if out, err := exec.Command("cp", "--sparse=always", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

// Make makes an image with a file system on it: "ext4" or "xfs".
func Make(path, kind string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make an image: %w", err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return fmt.Errorf("make an image: %w", err)
	}
	args := map[string][]string{"ext4": {"-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"}, "xfs": {"-q", "-f"}}[kind]
	if out, err := exec.Command("mkfs."+kind, append(args, path)...).CombinedOutput(); err != nil {
		return fmt.Errorf("make a file system: %w: %s", err, out)
	}
	return nil
}

// Mount mounts a file system that is in a file, by a loop device that ends with the mount.
func Mount(file, at, kind, options string) error {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the loop devices: %w", err)
	}
	defer control.Close()
	backing, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open the disk's file: %w", err)
	}
	defer backing.Close()
	for range 50 { // another process may take the free one first
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("find a free loop device: %w", err)
		}
		name := fmt.Sprintf("/dev/loop%d", n)
		loop, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return fmt.Errorf("open a loop device: %w", err)
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &unix.LoopConfig{Fd: uint32(backing.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}})
		if errors.Is(err, unix.EBUSY) {
			_ = loop.Close()
			continue
		}
		if err == nil {
			err = unix.Mount(name, at, kind, 0, options)
		}
		return errors.Join(wrap(err, "mount "+file), closed(loop))
	}
	return errors.New("find a free loop device: all are taken")
}

func closed(c io.Closer) error { return c.Close() }

func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
