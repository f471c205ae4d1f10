package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
)

// Origin returns where the value at path came from, or the zero Origin if nothing set it. The path
// of a parent ("spec.networking.bridge") returns the place of its key.
func (n *Node) Origin(path string) document.Origin {
	if name, ok := strings.CutPrefix(path, fileOrigin); ok {
		for i := range n.FileAssets {
			if n.FileAssets[i].Path+"]" == name {
				return n.FileAssets[i].Origin
			}
		}
	}
	return n.origins[path]
}

// fileOrigin is the prefix of a file's path. The file itself has its origin, because there may be
// thousands of files.
const fileOrigin = "spec.fileAssets["

// Paths returns every path that has an origin, sorted. `agent config` prints them.
func (n *Node) Paths() []string {
	paths := slices.Collect(maps.Keys(n.origins))
	for i := range n.FileAssets {
		paths = append(paths, fileOrigin+n.FileAssets[i].Path+"]")
	}
	slices.Sort(paths)
	return paths
}

// CertificateOf returns the certificate entry with a name, or nil if there is none.
func (n *Node) CertificateOf(name string) *extras.Certificate {
	for i := range n.Certificates {
		if n.Certificates[i].Name == name {
			return &n.Certificates[i]
		}
	}
	return nil
}
