// Package graph orders nodes by the keys that they own and need, and runs
// them as a bounded dataflow. It knows nothing of what a node is.
package graph

import "strings"

// Key names one piece of host state: "kind:name".
type Key string

// MakeKey joins a kind and a name.
func MakeKey(kind, name string) Key { return Key(kind + ":" + name) }

// Kind is the part before the first colon.
func (k Key) Kind() string { kind, _, _ := strings.Cut(string(k), ":"); return kind }

// Name is the part after the first colon.
func (k Key) Name() string { _, name, _ := strings.Cut(string(k), ":"); return name }

// Gate says before what a node must be right.
type Gate int

// The gates, in order. A node of an earlier gate must not need one of a later.
const (
	BeforeKubelet Gate = iota
	AfterKubelet
)
