package changes

import (
	"fmt"
	"path"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/tasks"
)

// Places tells which keys are one file on this host. Their paths lead to one name in one directory,
// through a symbolic link or a mount: /lib/a and /usr/lib/a. On a file system where the case of
// names does not count, only the names of directories are known to be one.
type Places struct {
	files hostfs.Files
	dirs  map[string]string // the identity of each directory, by path
}

// NewPlaces returns places that are read from files as they are asked for.
func NewPlaces(files hostfs.Files) *Places { return &Places{files, map[string]string{}} }

// Of returns the same text for two keys that are one file; "" for a key that is no file.
func (p *Places) Of(key graph.Key) string {
	if key.Kind() != tasks.KindFile {
		return ""
	}
	return path.Join(p.dir(path.Dir(key.Name())), path.Base(key.Name()))
}

// dir returns the device and the inode of a directory, or of the nearest parent that exists, and
// the rest of the path.
func (p *Places) dir(name string) string {
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
// undo the change of the other in every pass. The later one is refused. If the documents ask for
// one, and the network needs the other, the former is refused.
func SameFiles(v host.View, g *tasks.Graph) map[graph.Key]error {
	p := NewPlaces(v.Files)
	dirs, twice := map[string]string{}, map[string]bool{} // by identity: a path; whether there are others
	files := func(do func(t tasks.Task, key graph.Key)) {
		for _, t := range g.Order() {
			for _, key := range t.Owns() {
				if key.Kind() == tasks.KindFile {
					do(t, key)
				}
			}
		}
	}
	files(func(_ tasks.Task, key graph.Key) {
		dir := path.Dir(key.Name())
		at := p.dir(dir)
		if first, known := dirs[at]; !known {
			dirs[at] = dir
		} else if first != dir {
			twice[at] = true
		}
	})
	if len(twice) == 0 {
		return nil // the usual case: no map of all files is made
	}
	type owner struct {
		task tasks.Task
		key  graph.Key
	}
	first, out := map[string]owner{}, map[graph.Key]error{}
	files(func(t tasks.Task, key graph.Key) {
		if !twice[p.dir(path.Dir(key.Name()))] {
			return
		}
		at, mine := p.Of(key), owner{t, key}
		other, known := first[at]
		if known && model.Asked(other.task.Base()) && !model.Asked(t.Base()) {
			mine, other = other, mine
		}
		first[at] = other
		if !known {
			first[at] = mine
			return
		}
		if alike(mine.task, other.task) {
			return
		}
		err := fmt.Errorf("%s is on this host the same file as %s (%s): take one of the two paths out of the documents",
			mine.key.Name(), other.key.Name(), other.task.Base().From)
		if model.Asked(mine.task.Base()) {
			err = &HostError{err}
		}
		out[mine.task.Owns()[0]] = graph.Permanent(err)
	})
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
