package config

import "github.com/netwright/netwright/pkg/config/document"

// origins maps a field's path to where its value came from.
type origins map[string]document.Origin

// unsaid tells that no document says path, and records the default instead.
func (o origins) unsaid(path, whose string) bool {
	if _, said := o[path]; said {
		return false
	}
	o[path] = document.Origin{Default: whose}
	return true
}

// fill gives a field its default when no document says it.
func fill[T any](o origins, path, whose string, to *T, value T) {
	if o.unsaid(path, whose) {
		*to = value
	}
}
