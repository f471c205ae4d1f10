package config

import "cmp"

// Mode is what becomes of a key "kind:name" that somebody else has changed, with where it was said,
// as a path for [Node.Origin]; "" where no document said anything.
func (n *Node) Mode(key string) (mode, path string) { return n.Drift.Mode(key) }

// Says is a mode for eyes: "report (cluster.yaml:12:5)".
func (n *Node) Says(key string) string {
	mode, path := n.Mode(key)
	if path == "" {
		return mode
	}
	return mode + " (" + cmp.Or(n.Origin(path).String(), path) + ")"
}
