package statestore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// stamp is what stat says of a file and what changes when its content does.
type stamp struct {
	size, mtime, ctime int64
	dev, inode         uint64
}

// listing is the objects of one cluster as stat saw them.
type listing struct {
	stamps map[string]stamp // by name relative to the cluster
	notes  []string
	newest int64 // the youngest ctime, nanoseconds since the epoch
}

func (l *listing) names() []string {
	names := make([]string, 0, len(l.stamps))
	for name := range l.stamps {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (l *listing) add(name string, info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is a %s, a file is expected: remove it", name, typeWord(info.Mode()))
	case info.Size() > MaxObjectSize:
		return tooBig(name, info.Size())
	case len(l.stamps) == MaxObjects:
		return errTooMany
	}
	s := stampOf(info)
	l.stamps[name] = s
	l.newest = max(l.newest, s.ctime)
	return nil
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.dev, s.inode = st.Ctim.Nano(), uint64(st.Dev), st.Ino
	}
	return s
}

// scan lists the objects of a plain cluster directory by stat alone. root is the store's directory: symbolic links may lead
// anywhere below it (one key for two clusters), and not out of it.
func scan(ctx context.Context, root *os.Root, cluster string) (*listing, error) {
	l := &listing{stamps: map[string]stamp{}}
	if err := l.walk(ctx, root, cluster, "."); err != nil {
		return nil, err
	}
	slices.Sort(l.notes)
	return l, nil
}

func (l *listing) walk(ctx context.Context, root *os.Root, cluster, dir string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// A root for each directory makes the stat of a name in it one system call, not one for each part of its path.
	here, err := root.OpenRoot(path.Join(cluster, dir))
	if err != nil {
		return explain("open", dir, err)
	}
	defer here.Close()
	names, err := readNames(here)
	if err != nil {
		return explain("list", dir, err)
	}
	names = slices.DeleteFunc(names, func(base string) bool {
		return strings.HasPrefix(base, ".") // .git, ..data, an editor's swap file: never a document's name
	})
	infos, errs := lstatAll(here, names)
	for i, base := range names {
		name := path.Join(dir, base)
		if !validName(name) {
			l.notes = append(l.notes, noteIgnored(name, false))
			continue
		}
		info, err := infos[i], errs[i]
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = root.Stat(path.Join(cluster, name))
		}
		if err == nil {
			err = l.visit(ctx, root, cluster, name, info)
		} else if isObject(name) || leadsToObjects(name) {
			err = explain("read", name, err)
		} else {
			l.notes, err = append(l.notes, noteIgnored(name, false)), nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lstatAll describes the names in the directory that root is.
func lstatAll(root *os.Root, names []string) ([]fs.FileInfo, []error) {
	infos, errs := make([]fs.FileInfo, len(names)), make([]error, len(names))
	inShares(len(names), func(from, to int) {
		for i := from; i < to; i++ {
			infos[i], errs[i] = root.Lstat(names[i])
		}
	})
	return infos, errs
}

// visit sorts one directory entry in.
func (l *listing) visit(ctx context.Context, root *os.Root, cluster, name string, info fs.FileInfo) error {
	switch {
	case info.IsDir() && leadsToObjects(name):
		return l.walk(ctx, root, cluster, name)
	case isObject(name):
		return l.add(name, info)
	case !slices.Contains(apart, name):
		l.notes = append(l.notes, noteIgnored(name, info.IsDir()))
	}
	return nil
}

// readNames lists the directory that root is.
func readNames(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(MaxObjects + 1)
	switch {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	case len(names) > MaxObjects:
		return nil, errTooMany
	}
	slices.Sort(names)
	return names, nil
}

func typeWord(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
