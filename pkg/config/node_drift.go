package config

import "cmp"

// Says returns the mode of a key as text for people: "report (cluster.yaml:12:5)".
func (n *Node) Says(key string) string {
	mode, path := n.Drift.Mode(key)
	if path == "" {
		return mode
	}
	return mode + " (" + cmp.Or(n.Origin(path).String(), path) + ")"
}
