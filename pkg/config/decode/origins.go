package decode

import "github.com/netwright/netwright/pkg/config/document"

// Origins maps a field's path to where its value came from.
type Origins map[string]document.Origin

// unsaid reports whether no document says path, and records the default instead.
func (o Origins) unsaid(path, whose string) bool {
	if _, said := o[path]; said {
		return false
	}
	o[path] = document.Origin{Default: whose}
	return true
}

// Fill gives a field its default when no document says it.
func Fill[T any](o Origins, path, whose string, to *T, value T) {
	if o.unsaid(path, whose) {
		*to = value
	}
}
