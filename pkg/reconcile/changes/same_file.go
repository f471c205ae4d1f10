package changes

import (
	"fmt"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/tasks"
)

// Identities tells which keys are one file on this host. Their paths lead to one name in one
// directory, through a symbolic link or a mount: /lib/a and /usr/lib/a. On a file system where the
// case of names does not count, only the names of directories are known to be one.
type Identities struct {
	files hostfs.Files
	dirs  map[string]string // the identity of each directory, by path
}

// NewIdentities returns identities that are read from files as they are asked for.
func NewIdentities(files hostfs.Files) *Identities { return &Identities{files, map[string]string{}} }

// Of returns the same text for two keys that are one file; "" for a key that is no file.
func (p *Identities) Of(key graph.Key) string {
	if key.Kind() != tasks.KindFile {
		return ""
	}
	return path.Join(p.dir(path.Dir(key.Name())), path.Base(key.Name()))
}

// dir returns the device and the inode of a directory, or of the nearest parent that exists, and
// the rest of the path.
func (p *Identities) dir(name string) string {
	if at, known := p.dirs[name]; known {
		return at
	}
	at := "/"
	var info hostfs.FileInfo
	real, err := p.files.Resolve(name)
	if err == nil {
		info, err = p.files.Lstat(real)
	}
	switch {
	case err == nil && info.Type == hostfs.Directory:
		at = fmt.Sprintf("%d:%d", info.Dev, info.Inode)
	case name != "/":
		at = path.Join(p.dir(path.Dir(name)), path.Base(name))
	}
	p.dirs[name] = at
	return at
}

// SameFiles returns the tasks that want a file which another task wants by another path. Each would
// undo the change of the other in every pass. The one with the later path is refused. If the
// documents ask for one, and the network needs the other, the former is refused. It looks only at
// directories of files with one base name, which most hosts do not have.
func SameFiles(v host.View, g *tasks.Graph) map[graph.Key]error {
	dirs, twice := make(map[string]string, g.Len()), map[string]bool{} // by base name
	for _, key := range g.Keys() {
		if key.Kind() != tasks.KindFile {
			continue
		}
		dir, base := path.Split(key.Name())
		if first, known := dirs[base]; !known {
			dirs[base] = dir
		} else if first != dir {
			twice[base] = true
		}
	}
	var keys []graph.Key
	for _, key := range g.Keys() {
		if len(twice) > 0 && key.Kind() == tasks.KindFile && twice[path.Base(key.Name())] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	p, first, out := NewIdentities(v.Files), map[string]graph.Key{}, map[graph.Key]error{}
	for _, mine := range keys {
		at := p.Of(mine)
		other, known := first[at]
		if !known {
			first[at] = mine
			continue
		}
		myTask, _ := g.Find(mine)
		otherTask, _ := g.Find(other)
		if alike(myTask, otherTask) {
			continue
		}
		if model.Asked(otherTask.Base()) && !model.Asked(myTask.Base()) {
			first[at] = mine
			mine, myTask, other, otherTask = other, otherTask, mine, myTask
		}
		err := fmt.Errorf("%s is on this host the same file as %s (%s): take one of the two paths out of the documents",
			mine.Name(), other.Name(), otherTask.Base().From)
		if model.Asked(myTask.Base()) {
			err = &HostError{err}
		}
		out[myTask.Owns()[0]] = graph.Permanent(err)
	}
	return out
}

// alike reports whether two tasks want the same of a file, whatever its path.
func alike(a, b tasks.Task) bool {
	one, isFile := a.(tasks.File)
	other, areFiles := b.(tasks.File)
	if !isFile || !areFiles {
		return false
	}
	one.Path = other.Path
	mine, _, err := tasks.Record(one)
	theirs, _, err2 := tasks.Record(other)
	return err == nil && err2 == nil && mine.Same(theirs)
}
