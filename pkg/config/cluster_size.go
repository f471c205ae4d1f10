package config

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/kops"
)

// Size is how many nodes the cluster has, as far as its documents say. It is filled only for
// networks that have a limit of nodes (kubenet: a route each).
type Size struct {
	Least int `json:"least"` // documents under nodes/, or minSize of all groups, whichever is more; 0: not said
	Most  int `json:"most"`  // maxSize of all groups; 0: a group does not say it
}

// size counts what has a kubelet. Other groups' documents are not this node's to check: one that
// cannot be read says nothing here.
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

// whole is the number that a value holds; 0 when it holds none.
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
