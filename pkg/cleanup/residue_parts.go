package cleanup

import (
	"path"
	"slices"
	"strings"
)

// Kernel is what of it lives until the next boot, and the units that would make it again. Its lines
// stay, and still tell which tables are its own.
func (l Residue) Kernel() Residue {
	l.Files, l.Lines, l.Renamed, l.Names = nil, nil, nil, l.Lines
	return l
}

// OnDisk is what of it outlives a boot: files, the CNI conf among them.
func (l Residue) OnDisk() Residue {
	return Residue{Files: l.Files, Lines: l.Lines, Renamed: l.Renamed, Types: l.Types}
}

// In is the same on a host whose runtime has its CNI confs and plugins elsewhere: what a network
// has in the usual directories is looked for in these as well.
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
