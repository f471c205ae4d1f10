package config

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/kops"
)

// Size is the number of nodes in the cluster, as far as documents say it. It is filled only for a
// network that limits the number of nodes (kubenet, which needs one route for each).
type Size struct {
	Least int `json:"least"` // documents under nodes/, or minSize of all groups, whichever is more; 0: not set
	Most  int `json:"most"`  // maxSize of all groups; 0: one group does not set it
}

// size counts the nodes that run kubelet. Other groups' documents are not checked here: a document
// that cannot be read counts for nothing.
func (l *loader) size() Size {
	var least, most int
	bounded := len(l.groups) > 0
	for _, doc := range l.groups {
		other := document.Document{Path: doc.Path, Text: doc.Text}
		other.Parse()
		spec := other.Root.Get("spec")
		if kops.RoleOf(spec.Get("role").Str()) == kops.RoleBastion {
			continue
		}
		low, high := whole(spec.Get("minSize")), whole(spec.Get("maxSize"))
		least, most, bounded = least+low, most+high, bounded && high > 0
	}
	s := Size{Least: max(least, len(l.nodes))}
	if bounded {
		s.Most = max(most, s.Least)
	}
	return s
}

// whole returns the whole number in a value, or 0 if it has none.
func whole(v *document.Value) int {
	if v == nil || v.Kind != document.KindInt {
		return 0
	}
	n, err := strconv.Atoi(v.Text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
