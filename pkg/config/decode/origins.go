package decode

import "github.com/netwright/netwright/pkg/config/document"

// Origins maps the path of a field to the origin of its value.
type Origins map[string]document.Origin

// unsaid reports whether no document sets path. If none does, it records the default as the origin.
func (o Origins) unsaid(path, whose string) bool {
	if _, said := o[path]; said {
		return false
	}
	o[path] = document.Origin{Default: whose}
	return true
}

// Fill gives a field its default if no document sets it.
func Fill[T any](o Origins, path, whose string, to *T, value T) {
	if o.unsaid(path, whose) {
		*to = value
	}
}
