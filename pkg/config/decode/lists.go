package decode

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Keys remembers where a list said a key first.
type Keys map[string]document.Pos

// Unique reports a key that its list says twice.
func (d *Decoder) Unique(seen Keys, key string, where document.Pos, at string) bool {
	first, twice := seen[key]
	if twice {
		d.Doc.ErrorAt(where, document.Diagnostic{ID: problem.FieldTwice,
			Summary: fmt.Sprintf("%q is in this list twice", document.Clip(key)), Field: at,
			Hint: fmt.Sprintf("it is first on line %d: take one of them out", first.Line)})
		return false
	}
	seen[key] = where
	return true
}

// First is [Decoder.Unique] for a list in which kOps lets an entry hide a later one of its key: in
// a document of kOps that one is passed over. So an instance group's come before the cluster's in a
// NodeupConfig.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/nodeup/config.go (NewConfig)
func (d *Decoder) First(seen Keys, key string, where document.Pos, at string) bool {
	if _, twice := seen[key]; twice && d.Doc.Dialect.Lenient {
		return false
	}
	return d.Unique(seen, key, where, at)
}

// Required reports fields that a list's entry must have.
func (d *Decoder) Required(v *document.Value, at string, names ...string) bool {
	if v.Kind != document.KindMap {
		return false // said already
	}
	ok := true
	for _, name := range names {
		if v.Index(name) < 0 {
			d.Doc.ErrorAt(v.Pos, document.Diagnostic{ID: problem.FieldMissing,
				Summary: fmt.Sprintf("%s.%s is missing", at, name), Field: at + "." + name,
				Hint: "add the field " + name + " here"})
			ok = false
		}
	}
	return ok
}

// Merging returns a function that puts an element into the list: over the one of the same key, or
// at its end. So lists merge over cluster, node group and node. The keys of what is there are read
// once.
func Merging[T any](list *[]T, key func(T) string) func(T) {
	if len(*list) == 0 { // whoever puts makes sure that one list has no key twice
		return func(x T) { *list = append(*list, x) }
	}
	index := make(map[string]int, len(*list))
	for i, x := range *list {
		index[key(x)] = i
	}
	return func(x T) {
		if i, ok := index[key(x)]; ok {
			(*list)[i] = x
			return
		}
		index[key(x)] = len(*list)
		*list = append(*list, x)
	}
}

// Entries reads a list of mappings in the place of what an earlier document listed, and keeps where
// each entry stands: the origin of "spec.networking.custom.ports[0]".
//
//go:noinline
func Entries[T any](name string, to *[]T, fields func(*T) []Field, required ...string) Field {
	return Field{Name: name, Set: func(d *Decoder, v *document.Value, at string) {
		d.fresh(at, len(*to))
		*to = nil
		List(func(d *Decoder, v *document.Value, at string) {
			var x T
			d.Mapping(v, at, fields(&x))
			d.Required(v, at, required...)
			d.Origins[at] = d.Doc.Origin(v.Pos)
			*to = append(*to, x)
		})(d, v, at)
	}}
}

// Each takes a list of what one takes, in the place of what an earlier document listed.
func Each[T any](name string, to *[]T, one func(*T) Set) Field {
	return Field{Name: name, Set: func(d *Decoder, v *document.Value, at string) {
		*to = nil
		List(func(d *Decoder, v *document.Value, at string) {
			var x T
			one(&x)(d, v, at)
			*to = append(*to, x)
		})(d, v, at)
	}}
}

// Names reads a list of strings as [Texts] does, and keeps where each stands.
func Names(name string, to *[]string, valid func(string) string) Field {
	return Field{Name: name, Set: func(d *Decoder, v *document.Value, at string) {
		d.fresh(at, len(*to))
		Texts(name, to, valid).Set(d, v, at)
		for i, item := range v.Items {
			d.Origins[Index(at, i)] = d.Doc.Origin(item.Pos)
		}
	}}
}

// fresh forgets where the entries of an earlier document's list stood.
func (d *Decoder) fresh(at string, was int) {
	for i := range was {
		delete(d.Origins, Index(at, i))
	}
}

// Index is the path of a list's entry.
func Index(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }
