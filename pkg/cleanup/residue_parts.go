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
	files := slices.Clip(l.Files)
	for _, file := range l.Files {
		if name, ok := strings.CutPrefix(file, "/etc/cni/net.d/"); ok && confDir != "" && confDir != "/etc/cni/net.d" {
			files = append(files, confDir+"/"+name)
		}
		for _, dir := range binDirs {
			if name, ok := strings.CutPrefix(file, "/opt/cni/bin/"); ok && path.Clean(dir) != "/opt/cni/bin" {
				files = append(files, dir+"/"+name)
			}
		}
	}
	l.Files = files
	renamed := slices.Clip(l.Renamed)
	for _, m := range l.Renamed {
		if name, ok := strings.CutPrefix(m.Path, "/etc/cni/net.d/"); ok && confDir != "" && confDir != "/etc/cni/net.d" {
			renamed = append(renamed, RenamedSelector{Path: confDir + "/" + name, Suffix: m.Suffix})
		}
	}
	l.Renamed = renamed
	return l
}
