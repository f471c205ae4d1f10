package hostfs

import (
	"cmp"
	"errors"
	"io/fs"
	"path"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// AppendFile appends data to a file and syncs it. After a power cut during the call, the file may
// have only part of the data. If the file does not exist, it is created with mode, and its
// directory synced. It is for the ledger's journal and for the intents of [Batch.Atomic].
func (w *Writer) AppendFile(name string, data []byte, mode fs.FileMode) error {
	return at("append to", name, func(name string) (err error) {
		dir, _, err := w.files.Paths.OpenDir(path.Dir(name), true)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		fd, err := unix.Openat(dir, path.Base(name),
			unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode.Perm()))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unix.Close(fd)) }()
		if err := single(fd, name); err != nil {
			return err
		}
		for len(data) > 0 {
			n, err := unix.Write(fd, data)
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				return err
			}
			data = data[n:]
		}
		return syncAll([]syncItem{{fd: fd, name: name}, {fd: dir, name: path.Dir(name)}})
	})
}

// at cleans a path and calls do with it. It adds op and the path to an error.
func at(op, name string, do func(name string) error) error {
	_, err := look(op, name, func(name string) (struct{}, error) { return struct{}{}, do(name) })
	return err
}

// look is at for functions that return a value.
func look[T any](op, name string, find func(name string) (T, error)) (out T, err error) {
	if name, err = hostpath.Clean(op, name); err != nil {
		return out, err
	}
	out, err = find(name)
	return out, hostpath.Explain(op, name, err)
}

// behind returns a path without symlinks. It also follows a symlink at its end, so that an edit
// does not replace the symlink by a file.
func behind(root hostpath.Root, name string) (string, error) {
	fd, real, err := root.Strict().Walk(name, unix.O_PATH)
	if err != nil {
		return "", err
	}
	return real, unix.Close(fd)
}

// Mkdir creates a directory with mode and owner, or sets them on an existing one. It creates
// missing parents with mode 0755. It does not sync: after a power cut the next pass creates the
// directory again, and a write into the directory syncs it.
func (w *Writer) Mkdir(name string, mode fs.FileMode, uid, gid int) error {
	return at("make directory", name, func(name string) error {
		fd, _, err := w.files.Paths.OpenDir(name, true)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := setMeta(fd, FileSpec{Mode: mode, UID: uid, GID: gid}); err != nil {
			return hostpath.Explain("set owner and mode of", name, err)
		}
		w.log.wrote("directory", name, zap.Stringer("mode", mode))
		return nil
	})
}

// Symlink creates a symbolic link, or replaces a link with another target, in one step. Any other
// file at that path is an [hostpath.InTheWayError].
func (w *Writer) Symlink(name, target string) error {
	return at("link", name, func(name string) error {
		dir, real, err := w.files.Paths.OpenDir(path.Dir(name), true)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		base := path.Base(name)
		there, err := hostpath.LstatAt(dir, base)
		switch {
		case err == nil && there.Type != Symlink:
			return &hostpath.InTheWayError{Path: name, Is: there.Type, Want: Symlink}
		case err == nil:
			if is, err := hostpath.Readlinkat(dir, base); err == nil && is == target {
				return nil
			}
		}
		temp := stagedName()
		if err := mayStage(dir); err != nil {
			return err
		}
		if err := unix.Symlinkat(target, dir, temp); err != nil {
			return err
		}
		err = w.files.Paths.LabelLink(dir, temp, path.Join(real, base))
		if err == nil {
			err = unix.Renameat(dir, temp, dir, base)
		}
		if err != nil {
			return errors.Join(err, unix.Unlinkat(dir, temp, 0))
		}
		if err := syncAll([]syncItem{{fd: dir, name: path.Dir(name)}}); err != nil {
			return err
		}
		w.log.wrote("symlink", name, zap.String("target", target))
		return nil
	})
}

// SetMeta sets owner and mode of a file or directory without changing its content. If its metadata
// differs from was, the error is [hostpath.ErrChanged]. It refuses a symlink. A file with other
// names is a [hostpath.NamesError]; one that is mounted on its path is EBUSY.
func (w *Writer) SetMeta(name string, was FileInfo, spec FileSpec) error {
	return at("set owner and mode of", name, func(name string) error {
		dir, base, err := w.files.Paths.Strict().OpenParent(name)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		fd, err := hostpath.OpenAt(dir, base, toRead, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		now, err := hostpath.Fstat(fd)
		if err == nil && now != was {
			err = hostpath.ErrChanged
		}
		if err = cmp.Or(err, otherNames(fd, name)); err == nil {
			err = setMeta(fd, spec)
		}
		if err != nil {
			return err
		}
		w.log.wrote("owner and mode", name, zap.Stringer("mode", spec.Mode), zap.Int("uid", spec.UID), zap.Int("gid", spec.GID))
		return nil
	})
}
