package cleanup

import (
	"path"
	"slices"
	"strings"
)

// Kernel returns the part that lives until the next boot, and the units that would make it again.
// The lines stay in the files, because they show which tables belong to the network.
func (l Residue) Kernel() Residue {
	l.Files, l.Lines, l.Renamed, l.Names = nil, nil, nil, l.Lines
	return l
}

// OnDisk returns the part that survives a boot: files, including the CNI conf.
func (l Residue) OnDisk() Residue {
	return Residue{Files: l.Files, Lines: l.Lines, Renamed: l.Renamed, Types: l.Types}
}

// In returns the residue for a host whose runtime uses other CNI directories: what a network has
// in the usual directories is searched for in these too.
func (l Residue) In(confDir string, binDirs ...string) Residue {
	inside := func(file, usual, dir string) (other string, is bool) {
		name, is := strings.CutPrefix(file, usual+"/")
		return dir + "/" + name, is && dir != "" && path.Clean(dir) != usual
	}
	files, renamed := slices.Clone(l.Files), slices.Clone(l.Renamed)
	for _, file := range l.Files {
		if other, is := inside(file, "/etc/cni/net.d", confDir); is {
			files = append(files, other)
		}
		for _, dir := range binDirs {
			if other, is := inside(file, "/opt/cni/bin", dir); is {
				files = append(files, other)
			}
		}
	}
	for _, m := range l.Renamed {
		if other, is := inside(m.Path, "/etc/cni/net.d", confDir); is {
			renamed = append(renamed, RenamedSelector{other, m.Suffix})
		}
	}
	l.Files, l.Renamed = files, renamed
	return l
}
