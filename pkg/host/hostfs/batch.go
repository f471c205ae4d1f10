package hostfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Batch puts files in place so that after a crash, a kill or a power cut each
// of them is the old one or the new one, whole. Every file is staged beside its
// target, synced, and then all are renamed; the directories are synced last.
//
// On an error before the renames nothing has changed; on an error between
// them those done are taken back. A kill between two renames (microseconds) leaves
// some files old and some new, each of them whole: the next pass does the rest, or, where they
// belong together ([Batch.Atomic]), [Writer.Recover] before it.
// What a bind mount covers cannot be renamed over: it is written in place, after
// all others, and a power cut can tear it.
//
// A batch holds a descriptor for each of its files. It is for one goroutine;
// several batches may be under way at a time.
type Batch struct {
	w    *Writer
	all  []*Staged
	dirs map[string]*stagingDir
	tmp  []*os.File

	atomic  bool
	intent  string // its file, once written
	unnamed *int64 // bytes that its files may still have before its commit; nil: they have names
}

// stagingDir is a directory that files of a batch go into.
type stagingDir struct {
	name string
	real string // the same without links
	fd   int
}

// Batch begins an empty batch. The caller ends it with [Batch.Discard], which
// after a [Batch.Commit] does nothing.
func (w *Writer) Batch() *Batch {
	return &Batch{w: w, dirs: map[string]*stagingDir{}}
}

// Create stages an empty file that shall be at name. Missing parents are made
// with mode 0755. The caller writes the content, closes the file, and commits. A
// directory, device, pipe or socket at name is an [hostpath.InTheWayError]; a symlink is replaced.
func (b *Batch) Create(name string, spec FileSpec) (*Staged, error) {
	name, err := hostpath.Clean("write", name)
	if err != nil {
		return nil, err
	}
	s := newStaged(name, spec)
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

// open makes the file of s beside its target.
func (b *Batch) open(s *Staged) error {
	dir, err := b.dir(path.Dir(s.name), true)
	if err != nil {
		return err
	}
	return stageFile(b.w.files.Paths, dir, s)
}

// Put stages a file with its whole content. After an error the batch is as it was before.
func (b *Batch) Put(name string, content []byte, spec FileSpec) error {
	return b.stage(name, spec, func(s *Staged) error {
		_, err := s.Write(content)
		return err
	})
}

// stage creates a file, has it filled and closes it. After an error the batch is as it was before.
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

// dir opens a directory of the batch, once. One for new files is made if need be, and cleared of
// what a killed run left there.
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

// Commit makes the batch visible and durable: when it returns nil, all files
// are in place and survive a power cut. A cancelled context stops it before the
// first rename only. It ends the batch, also on an error.
func (b *Batch) Commit(ctx context.Context) error {
	defer b.Discard()
	for _, s := range b.all {
		if !s.closed {
			return fmt.Errorf("write %s: committed before it was closed", s.name)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write %d files: %w", len(b.all), err)
	}
	if err := b.nameFiles(); err != nil {
		return err
	}
	if err := b.syncFiles(); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("write %d files: %w", len(b.all), err)
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
		b.w.log.wrote("file", s.name, zap.Int64("bytes", s.size), zap.Stringer("mode", s.spec.Mode),
			zap.Bool("in place", s.state == notPlaced))
	}
	return nil
}

// Discard ends a batch: what is staged and not in place is removed.
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

// scratch opens a file without a name on the file system of a directory. It is gone
// when the batch ends.
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

// publish renames all files into place, or none. Where a file is replaced, the old
// one is swapped out and kept until the last rename has gone well.
func (b *Batch) publish() error {
	var covered []*Staged
	for i, s := range b.all {
		if s.state != notPlaced {
			continue // by the run that is recovered
		}
		put := func() error { return s.rename(len(b.all) > 1) }
		if s.read != nil {
			put = s.replace
		}
		err := put()
		switch {
		case err == unix.EBUSY:
			covered = append(covered, s)
		case err != nil:
			return takeBack(b.all[:i+1], hostpath.Explain("write", s.name, err))
		}
	}
	for _, s := range covered {
		if err := s.overwrite(); err != nil {
			return takeBack(b.all, hostpath.Explain("write in place", s.name, err))
		}
	}
	for _, s := range b.all {
		s.dropOld()
	}
	return nil
}

// takeBack undoes what publish did with files, and returns why, with what stays all the same.
func takeBack(files []*Staged, why error) error {
	for _, done := range files {
		why = errors.Join(why, hostpath.Explain("take back", done.name, done.undo()))
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
	if b.atomic { // the staged names count as well
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

// fleeting says that nobody believes any of it after this boot.
func (b *Batch) fleeting() bool {
	return len(b.all) > 0 && !slices.ContainsFunc(b.all, func(s *Staged) bool { return !s.spec.Fleeting })
}

func (b *Batch) dirItems() (group []syncItem) {
	for _, d := range b.dirs {
		group = append(group, syncItem{fd: d.fd, name: d.name})
	}
	return group
}
