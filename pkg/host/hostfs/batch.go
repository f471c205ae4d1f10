package hostfs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/plural"
)

// Batch puts files in place so that after a crash, a kill or a power cut each file is the old one
// or the new one, whole. It writes ("stages") each file in the directory of its target, syncs all
// of them, then renames them, and syncs the directories last.
//
// If an error occurs before the renames, nothing has changed. If one occurs between them, Batch
// undoes the renames that it made. After a kill between two renames (microseconds), some files are
// old and some new, each of them whole. The next pass completes them. If they belong together
// ([Batch.Atomic]), [Writer.Recover] completes them before that pass.
//
// A file that is a mount point cannot be replaced by a rename: [Batch.Create] returns EBUSY.
//
// A batch has a file descriptor for each of its files. Only one goroutine may use a batch; several
// batches may exist at a time.
type Batch struct {
	w    *Writer
	all  []*Staged
	dirs map[string]*stagingDir
	tmp  []*os.File

	atomic  bool
	intent  string // path of its intent, once written
	unnamed *int64 // bytes that may still be written before Commit; nil: its files have names
}

// stagingDir is the directory of files in a batch.
type stagingDir struct {
	name string
	real string // the same path without symlinks
	fd   int
}

// WriteFile puts one file in place, whole and durably: a [Batch] with one file.
func (w *Writer) WriteFile(ctx context.Context, name string, content []byte, spec FileSpec) error {
	b := w.Batch()
	defer b.Discard()
	if err := b.Put(name, content, spec); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// Batch returns an empty batch. The caller must end it with [Batch.Discard], which does nothing
// after a [Batch.Commit].
func (w *Writer) Batch() *Batch {
	return &Batch{w: w, dirs: map[string]*stagingDir{}}
}

// Create stages an empty file for the path name. It creates missing parents with mode 0755. The
// caller writes the content, closes the file, and commits the batch. A symlink at name is replaced.
// A directory, device, pipe or socket at name is an [hostpath.InTheWayError].
func (b *Batch) Create(name string, spec FileSpec) (*Staged, error) {
	name, err := hostpath.Clean("write", name)
	if err != nil {
		return nil, err
	}
	s := &Staged{name: name, base: path.Base(name), spec: spec, hash: sha256.New()}
	if b.unnamed != nil {
		err = b.openUnnamed(s)
	} else {
		err = b.open(s)
	}
	if err != nil {
		return nil, hostpath.Explain("write", name, err)
	}
	b.all = append(b.all, s)
	return s, nil
}

// open creates the file of s in the directory of its target, under its staged name.
func (b *Batch) open(s *Staged) error {
	dir, err := b.dir(path.Dir(s.name), true)
	if err != nil {
		return err
	}
	there, err := s.enter(dir)
	if err != nil {
		return err
	}
	fd, err := hostpath.OpenAt(dir.fd, s.temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	s.file = os.NewFile(uintptr(fd), s.name)
	if err = s.label(b.w.files.Paths, there); err != nil {
		s.discard()
	}
	return err
}

// Exists reports whether there is something at a path, whatever a batch has staged for it.
func Exists(b *Batch, name string) (bool, error) {
	_, err := b.w.files.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Put stages a file with its whole content. On an error, the batch does not change.
func (b *Batch) Put(name string, content []byte, spec FileSpec) error {
	return b.stage(name, spec, func(s *Staged) error {
		_, err := s.Write(content)
		return err
	})
}

// stage creates a file, calls fill to write it, and closes it. On an error, the batch does not
// change.
func (b *Batch) stage(name string, spec FileSpec, fill func(*Staged) error) error {
	s, err := b.Create(name, spec)
	if err != nil {
		return err
	}
	if err = fill(s); err == nil {
		err = s.Close()
	}
	if err != nil {
		s.discard()
		b.all = b.all[:len(b.all)-1]
	}
	return err
}

// dir opens a directory once for each batch. If forNew, it creates a missing directory, and removes
// staged files that a killed run left there.
func (b *Batch) dir(name string, forNew bool) (*stagingDir, error) {
	if d, ok := b.dirs[name]; ok {
		return d, nil
	}
	fd, real, err := b.w.files.Paths.OpenDir(name, forNew)
	if err != nil {
		return nil, err
	}
	if forNew {
		if err := mayStage(fd); err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
		b.w.files.cleaner.remove(fd, name, b.w.log)
	}
	d := &stagingDir{name: name, real: real, fd: fd}
	b.dirs[name] = d
	return d, nil
}

// Commit puts all files in place. If it returns nil, the files are visible and survive a power cut.
// A cancelled context stops it only before the first rename. It ends the batch, also on an error.
func (b *Batch) Commit(ctx context.Context) error {
	defer b.Discard()
	for _, s := range b.all {
		if !s.closed {
			return fmt.Errorf("write %s: committed before it was closed", s.name)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write %s: %w", plural.Of(len(b.all), "file"), err)
	}
	if err := b.nameFiles(); err != nil {
		return err
	}
	if err := b.syncFiles(); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write %s: %w", plural.Of(len(b.all), "file"), err)
	}
	if err := b.announce(); err != nil {
		return errors.Join(err, b.conclude())
	}
	if err := b.publish(); err != nil {
		return errors.Join(err, b.conclude())
	}
	if err := b.syncDirs(); err != nil {
		return err
	}
	if err := b.conclude(); err != nil {
		return err
	}
	for _, s := range b.all {
		s.record(b.w.files)
		b.w.log.wrote("file", s.name, zap.Int64("bytes", s.size), zap.Stringer("mode", s.spec.Mode))
	}
	return nil
}

// Discard ends a batch: it removes the staged files that are not in place.
func (b *Batch) Discard() {
	for _, s := range b.all {
		s.discard()
	}
	for _, d := range b.dirs {
		unix.Close(d.fd)
	}
	for _, f := range b.tmp {
		f.Close()
	}
	b.all, b.dirs, b.tmp = nil, map[string]*stagingDir{}, nil
}

// scratch opens a file without a name on the file system of a directory. The file is gone when the
// batch ends.
func (b *Batch) scratch(dir string) (*os.File, error) {
	if b.unnamed != nil {
		f, err := b.openNearest(path.Join(dir, "scratch"))
		if err == nil {
			b.tmp = append(b.tmp, f)
		}
		return f, hostpath.Explain("write below", dir, err)
	}
	d, err := b.dir(dir, true)
	if err != nil {
		return nil, hostpath.Explain("write below", dir, err)
	}
	name := stagedName()
	fd, err := unix.Openat(d.fd, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.Unlinkat(d.fd, name, 0)
	}
	if err != nil {
		return nil, hostpath.Explain("write below", dir, err)
	}
	f := os.NewFile(uintptr(fd), path.Join(dir, name))
	b.tmp = append(b.tmp, f)
	return f, nil
}

// publish renames all files into place, or none. It exchanges a new file with the old one, and
// keeps the old one until the last rename has succeeded.
func (b *Batch) publish() error {
	for i, s := range b.all {
		if s.state != notPlaced {
			continue // put in place by the run that Recover completes
		}
		put := func() error { return s.rename(len(b.all) > 1) }
		if s.read != nil {
			put = s.replace
		}
		if err := put(); err != nil {
			return takeBack(b.all[:i+1], hostpath.Explain("write", s.name, err))
		}
	}
	for _, s := range b.all {
		s.dropOld()
	}
	return nil
}

// takeBack undoes the renames of publish. It returns why, joined with the errors of renames that
// could not be undone.
func takeBack(files []*Staged, why error) error {
	for _, done := range files {
		why = errors.Join(why, hostpath.Explain("restore", done.name, done.undo()))
	}
	return why
}

func (b *Batch) syncFiles() error {
	if b.fleeting() {
		return nil
	}
	var group []syncItem
	for _, s := range b.all {
		group = append(group, syncItem{fd: int(s.file.Fd()), name: s.name})
	}
	if b.atomic { // the intent names the staged files, so their names must be on the disk
		group = append(group, b.dirItems()...)
	}
	return syncAll(group)
}

func (b *Batch) syncDirs() error {
	if b.fleeting() {
		return nil
	}
	return syncAll(b.dirItems())
}

// fleeting reports whether no file of the batch is used after this boot.
func (b *Batch) fleeting() bool {
	return len(b.all) > 0 && !slices.ContainsFunc(b.all, func(s *Staged) bool { return !s.spec.Fleeting })
}

func (b *Batch) dirItems() (group []syncItem) {
	for _, d := range b.dirs {
		group = append(group, syncItem{fd: d.fd, name: d.name})
	}
	return group
}
