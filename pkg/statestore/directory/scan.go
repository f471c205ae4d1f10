package directory

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// listing is the objects of one cluster as stat saw them, in the order of walking: the same each
// time.
type listing struct {
	objects   []listed
	notes     []string
	untrusted error            // who else may change one of them; nil: nobody
	kops      bool             // it is kOps' own
	published bool             // it is the manifest alone
	dirs      map[string]names // by path; of an earlier listing those that are as they were need not be listed again
}

// names are what is in a directory, sorted, while it is as stat said before it was listed.
type names struct {
	stamp
	list []string
}

type listed struct {
	name string // relative to the cluster
	stamp
}

// newest is the youngest ctime, in nanoseconds since the epoch.
func (l *listing) newest() int64 {
	var newest int64
	for _, o := range l.objects {
		newest = max(newest, o.ctime)
	}
	return newest
}

func (l *listing) add(name string, e seen) error {
	switch {
	case !e.mode.IsRegular():
		return fmt.Errorf("%q is a %s, a file is expected: remove it", name, typeWord(e.mode))
	case e.size > manifest.MaxObjectSize:
		return manifest.TooBig(name, e.size)
	case len(l.objects) == manifest.MaxObjects:
		return manifest.ErrTooMany
	}
	l.objects = append(l.objects, listed{name, e.stamp})
	return nil
}

// scan lists the objects of a plain cluster directory by stat alone. root is the store's directory:
// symbolic links may lead anywhere below it (one key for two clusters), and not out of it. earlier
// is a listing of the same, or nil.
func scan(ctx context.Context, root *os.Root, cluster string, earlier *listing) (*listing, error) {
	l := &listing{dirs: map[string]names{}}
	if earlier != nil && !earlier.published {
		l.dirs = earlier.dirs
	}
	if err := l.walk(ctx, root, cluster, "."); err != nil {
		return nil, err
	}
	slices.Sort(l.notes)
	return l, nil
}

// scanManifest lists the manifest alone: what it names is never changed, only joined by others.
func scanManifest(root *os.Root, cluster string) (*listing, error) {
	info, err := root.Stat(path.Join(cluster, manifest.Name))
	if err != nil {
		return nil, explain("read", manifest.Name, err)
	}
	e := seenAs(info, nil)
	return &listing{published: true, objects: []listed{{manifest.Name, e.stamp}},
		untrusted: e.untrustedOwner(false, cluster, manifest.Name)}, nil
}

func (l *listing) walk(ctx context.Context, root *os.Root, cluster, dir string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	here, err := hostpath.OpenQuietly(root, path.Join(cluster, dir))
	if err != nil {
		return explain("open", dir, err)
	}
	defer here.Close()
	names, err := l.names(here, dir)
	if err != nil {
		return explain("list", dir, err)
	}
	if dir == "." {
		l.kops = manifest.IsKopsStore(names)
	}
	l.objects = slices.Grow(l.objects, len(names))
	for i, e := range lstatAll(here, names) {
		name := names[i]
		if dir != "." {
			name = dir + "/" + name
		}
		if !manifest.ValidName(name) {
			l.notes = append(l.notes, manifest.NoteIgnored(name, false))
			continue
		}
		if e.err == nil && e.mode == fs.ModeSymlink {
			e = seenAs(root.Stat(path.Join(cluster, name)))
		}
		err := e.err
		if err == nil {
			err = l.visit(ctx, root, cluster, name, e)
		} else if l.takes(name) || manifest.LeadsToObjects(name) {
			err = explain("read", name, err)
		} else {
			l.notes, err = append(l.notes, manifest.NoteIgnored(name, false)), nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// names lists a directory. One that has not changed since it was listed has the same names; where a
// change could leave no trace they are not kept.
func (l *listing) names(here *os.File, dir string) ([]string, error) {
	is := seenAs(here.Stat())
	if known, ok := l.dirs[dir]; ok && is.err == nil && known.stamp == is.stamp {
		return known.list, nil
	}
	settled := is.err == nil && hostfs.Stable(is.info())
	list, err := namesIn(here)
	list = slices.DeleteFunc(list, func(base string) bool {
		return strings.HasPrefix(base, ".") // .git, ..data, an editor's swap file: never a document's name
	})
	if delete(l.dirs, dir); settled && err == nil {
		l.dirs[dir] = names{is.stamp, list}
	}
	return list, err
}

// visit sorts one directory entry in.
func (l *listing) visit(ctx context.Context, root *os.Root, cluster, name string, e seen) error {
	leads := e.mode.IsDir() && manifest.LeadsToObjects(name)
	if l.untrusted == nil && (leads || l.takes(name)) {
		l.untrusted = e.untrustedOwner(false, cluster, name)
	}
	switch {
	case leads:
		return l.walk(ctx, root, cluster, name)
	case l.takes(name):
		return l.add(name, e)
	case l.kops && manifest.Matches(manifest.KopsApart, name):
	case !slices.Contains(manifest.Apart, name):
		l.notes = append(l.notes, manifest.NoteIgnored(name, e.mode.IsDir()))
	}
	return nil
}

// takes reports whether a name belongs to the objects here. In a cluster's directory of ours kOps'
// names mean nothing.
func (l *listing) takes(name string) bool {
	return manifest.IsOurs(name) || l.kops && manifest.IsKopsObject(name)
}

// namesIn lists a directory, sorted. Its names alone: what else package os lists of a directory
// below an os.Root it stats, name by name.
func namesIn(dir *os.File) ([]string, error) {
	names, err := dir.Readdirnames(manifest.MaxObjects + 1)
	switch {
	case err == io.EOF:
		return nil, nil
	case err != nil:
		return nil, err
	case len(names) > manifest.MaxObjects:
		return nil, manifest.ErrTooMany
	}
	slices.Sort(names)
	return names, nil
}
