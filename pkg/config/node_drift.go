package config

import "cmp"

// Says is the mode of a key for eyes: "report (cluster.yaml:12:5)".
func (n *Node) Says(key string) string {
	mode, path := n.Drift.Mode(key)
	if path == "" {
		return mode
	}
	return mode + " (" + cmp.Or(n.Origin(path).String(), path) + ")"
}
