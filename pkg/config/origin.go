package config

import (
	"fmt"
	"sort"
	"strings"
)

// Source is one document as the store gave it.
type Source struct {
	Path string // relative to the cluster: "cluster.yaml", "nodegroups/nodes.yaml", "nodes/node-1.yaml"
	Data []byte
}

// Origin says where a value came from: a place in a document, or a default.
type Origin struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // from 1
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Default string `json:"default,omitempty"`
}

// The defaults that an Origin may name.
const (
	NodeDefault = "node default" // ours
	KopsDefault = "kOps default" // what kOps fills in
)

// IsDefault tells that no document said the value.
func (o Origin) IsDefault() bool { return o.File == "" }

// String is "cluster.yaml:12:3", or "kOps default"; "" when nothing is known.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return o.Default
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}

// origins maps a field's path to where its value came from.
type origins map[string]Origin

// Origin says where the value at path came from; the zero Origin when nothing set it. A parent's
// path ("spec.networking.bridge") answers with the place of its key.
func (n *Node) Origin(path string) Origin {
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
	paths := make([]string, 0, len(n.origins))
	for p := range n.origins {
		paths = append(paths, p)
	}
	for i := range n.FileAssets {
		paths = append(paths, fileOrigin+n.FileAssets[i].Path+"]")
	}
	sort.Strings(paths)
	return paths
}
