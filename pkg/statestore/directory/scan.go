package directory

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// listing has the objects of one cluster with their stamps, in the order of the walk, which is
// always the same.
type listing struct {
	objects   []listed
	notes     []string
	links     []string         // the symbolic links among the names
	untrusted error            // another user may change one of them; nil: none may
	kops      bool             // it is kOps' own store
	published bool             // only the manifest is listed
	changed   int64            // the latest ctime of the files and directories, in nanoseconds since the epoch
	dirs      map[string]names // by path: an unchanged directory is not listed again
	earlier   map[string]names // the directories of an earlier listing
}

// statsAtOnce is the number of names whose stat is held at once. All of ten thousand need 1 MB.
const statsAtOnce = 1024

// names are the sorted names in a directory, with the stamp of the directory before it was listed.
type names struct {
	stamp
	list []string
}

type listed struct {
	name string // relative to the cluster
	stamp
}

// changedSince reports whether a file or a directory may have changed since a moment.
func (l *listing) changedSince(at time.Time) bool { return l.changed >= at.UnixNano() }

// sum returns a digest of all names and stamps. The daemon keeps it until the next look instead of
// a list of ten thousand files.
func (l *listing) sum() blob.Digest {
	h := sha256.New()
	var line []byte
	for i := range l.objects {
		o := &l.objects[i]
		line = append(append(line[:0], o.name...), 0)
		for _, v := range [...]uint64{uint64(o.size), uint64(o.mtime), uint64(o.ctime), o.dev, o.inode} {
			line = binary.LittleEndian.AppendUint64(line, v)
		}
		h.Write(line)
	}
	return blob.Digest(h.Sum(nil))
}

func (l *listing) add(name string, e seen) error {
	switch {
	case !e.mode.IsRegular():
		return fmt.Errorf("%q is a %s, a file is expected: remove it", name, blob.TypeWord(e.mode))
	case e.size > manifest.MaxObjectSize:
		return manifest.TooBig(name, e.size)
	case len(l.objects) == manifest.MaxObjects:
		return manifest.ErrTooMany
	}
	l.objects = append(l.objects, listed{name, e.stamp})
	return nil
}

// date takes the ctime of a file or a directory into account. on is an open file of its file
// system. A file of an image may have changed at any time (see [hostfs.OfImage]).
func (l *listing) date(on *os.File, e seen) {
	l.changed = max(l.changed, e.ctime)
	if l.changed < math.MaxInt64 && hostfs.OfImage(int(on.Fd()), e.info()) {
		l.changed = math.MaxInt64
	}
}

// scan lists the objects of a plain cluster directory with stat alone. root is the store's
// directory: a symbolic link may lead anywhere below it (one key for two clusters), but not out of
// it. earlier are the directories of a previous listing, or nil.
func scan(ctx context.Context, root *os.Root, cluster string, earlier map[string]names) (*listing, error) {
	l := &listing{dirs: map[string]names{}, earlier: earlier}
	if err := l.walk(ctx, root, cluster, "."); err != nil {
		return nil, err
	}
	l.earlier = nil
	slices.Sort(l.notes)
	return l, nil
}

// scanManifest lists only the manifest. The objects that it names never change.
func scanManifest(root *os.Root, cluster string) (*listing, error) {
	f, err := hostpath.OpenQuietly(root, path.Join(cluster, manifest.Name))
	if err != nil {
		return nil, explain("read", manifest.Name, err)
	}
	defer f.Close()
	e := seenAs(f.Stat())
	if e.err != nil {
		return nil, explain("read", manifest.Name, e.err)
	}
	l := &listing{published: true, objects: []listed{{manifest.Name, e.stamp}}, links: []string{manifest.Name},
		untrusted: e.untrustedOwner(false, cluster, manifest.Name)}
	l.date(f, e)
	return l, nil
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
	buf := make([]seen, min(len(names), statsAtOnce))
	for part := range slices.Chunk(names, statsAtOnce) {
		for i, e := range lstatAll(here, part, buf) {
			if err := l.entry(ctx, root, here, cluster, part[i], e); err != nil {
				return err
			}
		}
	}
	after := seenAs(here.Stat()) // a name may have been added or removed during the listing
	l.date(here, after)
	return after.err
}

// entry handles one name in the directory here, whose lstat is e.
func (l *listing) entry(ctx context.Context, root *os.Root, here *os.File, cluster, name string, e seen) error {
	if !manifest.ValidName(name) {
		l.notes = append(l.notes, manifest.NoteIgnored(name, false))
		return nil
	}
	if e.err == nil && e.mode == fs.ModeSymlink {
		e = seenAs(root.Stat(path.Join(cluster, name)))
		if l.takes(name) || manifest.LeadsToObjects(name) {
			l.links = append(l.links, name)
		}
	}
	switch {
	case e.err == nil:
		if l.takes(name) {
			l.date(here, e)
		}
		return l.visit(ctx, root, cluster, name, e)
	case l.takes(name) || manifest.LeadsToObjects(name):
		return explain("read", name, e.err)
	}
	l.notes = append(l.notes, manifest.NoteIgnored(name, false))
	return nil
}

// names lists a directory. It returns the earlier names if the directory has not changed since. It
// saves the names only if any later change will show in the stamp.
func (l *listing) names(here *os.File, dir string) ([]string, error) {
	is := seenAs(here.Stat())
	if known, ok := l.earlier[dir]; ok && is.err == nil && known.stamp == is.stamp {
		l.dirs[dir] = known
		return known.list, nil
	}
	settled := is.err == nil && hostfs.Stable(is.info()) && !hostfs.OfImage(int(here.Fd()), is.info())
	list, err := namesIn(here)
	list = slices.DeleteFunc(list, func(base string) bool {
		return strings.HasPrefix(base, ".") // .git, ..data, an editor's swap file: never a document
	})
	if dir != "." {
		for i := range list {
			list[i] = dir + "/" + list[i]
		}
	}
	if settled && err == nil {
		l.dirs[dir] = names{is.stamp, list}
	}
	return list, err
}

// visit handles one directory entry.
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

// takes reports whether a name belongs to the objects of this cluster. kOps' names count only in
// kOps' own store.
func (l *listing) takes(name string) bool {
	return manifest.IsOurs(name) || l.kops && manifest.IsKopsObject(name)
}

// namesIn lists the names of a directory, sorted. It uses Readdirnames because the other functions
// of package os also call lstat for each name below an os.Root.
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
