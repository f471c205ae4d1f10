package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
)

// Origin says where the value at path came from; the zero Origin when nothing set it. A parent's
// path ("spec.networking.bridge") answers with the place of its key.
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

// fileOrigin begins the path of a file's origin, which it has itself: there may be thousands.
const fileOrigin = "spec.fileAssets["

// Paths lists every path that has an origin, sorted: what `agent config` prints.
func (n *Node) Paths() []string {
	paths := slices.Collect(maps.Keys(n.origins))
	for i := range n.FileAssets {
		paths = append(paths, fileOrigin+n.FileAssets[i].Path+"]")
	}
	slices.Sort(paths)
	return paths
}

// CertificateOf is the entry of a name, nil if there is none.
func (n *Node) CertificateOf(name string) *extras.Certificate {
	for i := range n.Certificates {
		if n.Certificates[i].Name == name {
			return &n.Certificates[i]
		}
	}
	return nil
}
