package document

import (
	"fmt"
)

// Source is one document as the store returned it.
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

// These are the defaults that an Origin may name.
const (
	NodeDefault = "node default" // the agent's own default
	KopsDefault = "kOps default" // kOps' default
)

// IsDefault reports whether no document set the value.
func (o Origin) IsDefault() bool { return o.File == "" }

// String returns "cluster.yaml:12:3" or "kOps default", or "" if the origin is unknown.
func (o Origin) String() string {
	switch {
	case o.File == "":
		return o.Default
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}
