package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/problem"
)

// existingUnitDirs returns those of [systemd.UnitDirs] that exist. It leaves out /lib where this is
// a link to /usr.
func existingUnitDirs(f hostfs.Files) (dirs []string) {
	var seen []hostfs.FileInfo
	for _, dir := range slices.Backward(systemd.UnitDirs) {
		info, err := f.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && slices.ContainsFunc(seen, info.SameFile) {
			continue
		}
		dirs, seen = append(dirs, dir), append(seen, info)
	}
	slices.Reverse(dirs)
	return dirs
}

// UnitFinder finds units that have a file, and remembers what it found. A plan uses one, since all
// of its files have the same directories above them.
type UnitFinder struct {
	files hostfs.Files
	dirs  func() []string
	found sync.Map // whether a unit has a file, by name
}

// NewUnitFinder returns a UnitFinder that has found nothing yet.
func NewUnitFinder(f hostfs.Files) *UnitFinder {
	return &UnitFinder{files: f, dirs: sync.OnceValue(func() []string { return existingUnitDirs(f) })}
}

// Has reports whether a unit has a file.
func (u *UnitFinder) Has(name string) bool {
	if has, known := u.found.Load(name); known {
		return has.(bool)
	}
	has := slices.ContainsFunc(u.dirs(), func(dir string) bool { return isThere(u.files, path.Join(dir, name)) })
	u.found.Store(name, has)
	return has
}

// ReadUnitFile finds and merges a unit's files as systemd does, which ignores unreadable drop-ins.
// It does not look at templates, or at drop-ins for a whole type of units. It returns
// [fs.ErrNotExist] if there is no such unit.
func ReadUnitFile(f hostfs.Files, name string) (systemd.UnitFile, error) {
	return readUnitFile(f, existingUnitDirs(f), name)
}

// readUnitFile is [ReadUnitFile] for a caller that knows which directories exist.
func readUnitFile(f hostfs.Files, unitDirs []string, name string) (systemd.UnitFile, error) {
	u := systemd.ParseUnitFile(nil)
	for _, dir := range unitDirs {
		file := path.Join(dir, name)
		if _, err := f.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		content, err := readConfig(f, file)
		if err != nil {
			return systemd.UnitFile{}, fmt.Errorf("read unit file %s: %w", file, err)
		}
		if len(content) == 0 {
			return systemd.UnitFile{Fragment: file, Masked: true}, nil
		}
		u.Add(file, content)
		break
	}
	if u.Fragment == "" {
		return systemd.UnitFile{}, problem.Missing("read unit %s: no directory of units has it", name)
	}
	var dirs []string
	for _, dir := range unitDirs {
		dirs = append(dirs, path.Join(dir, name+".d"))
	}
	dropIns, _ := confFiles(f, dirs)
	for _, file := range dropIns {
		content, err := readConfig(f, file)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a symlink to nothing
		case err != nil:
			u.Unread = append(u.Unread, fmt.Errorf("read drop-in %s: %w", file, err))
		case len(content) > 0:
			u.Add(file, content)
		}
	}
	return u, nil
}

// readConfig reads a unit file or a file of a *.d directory. An empty file is a mask: it hides
// files of the same name in directories of lower priority (systemd.unit(5)). A symlink to /dev/null
// is a mask, too; in an image, /dev/null itself does not exist.
func readConfig(f hostfs.Files, file string) ([]byte, error) {
	content, err := f.ReadFile(file)
	if err == nil {
		return content, nil
	}
	if end, _ := f.Resolve(file); end == "/dev/null" {
		return nil, nil
	}
	return nil, err
}

// confFiles lists the *.conf files in directories, the highest priority first in dirs, sorted by
// name. If several directories have a file of the same name, it lists the one with the highest
// priority. The problems are directories that cannot be read.
func confFiles(f hostfs.Files, dirs []string) (files []string, problems []error) {
	byName := map[string]string{}
	for _, dir := range slices.Backward(dirs) {
		names, err := f.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") {
				byName[name] = path.Join(dir, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		files = append(files, byName[name])
	}
	return files, problems
}

// UnitFingerprint returns a hash of a unit's files, of further files that it reads, and of its
// program's metadata. A different hash means that one of these has changed. It only reads files,
// and of the program only metadata.
func UnitFingerprint(f hostfs.Files, name string, reads ...string) string {
	sum := sha256.New()
	u, err := ReadUnitFile(f, name)
	if err != nil {
		fmt.Fprintln(sum, err)
	}
	for _, file := range slices.Concat([]string{u.Fragment}, u.DropIns, reads) {
		if content, err := f.ReadFile(file); err == nil {
			fmt.Fprintln(sum, file, len(content))
			sum.Write(content)
		}
	}
	for _, line := range u.Values("Service", "ExecStart") {
		program, _, _ := strings.Cut(strings.TrimLeft(line, "@-:+!|"), " ")
		if info, err := f.Lstat(program); err == nil {
			fmt.Fprintln(sum, program, info.Size, info.Mtime, info.Inode)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
