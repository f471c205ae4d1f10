package decode

import (
	"fmt"
	"strconv"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Keys has the place where a list first has each key.
type Keys map[string]document.Pos

// Unique reports an error for a key that its list has twice.
func (v Reading) Unique(seen Keys, key string) bool {
	first, twice := seen[key]
	if twice {
		v.Error(document.Diagnostic{ID: problem.FieldTwice,
			Summary: fmt.Sprintf("%q is in this list twice", document.Clip(key)),
			Hint:    fmt.Sprintf("it is first on line %d: take one of them out", first.Line)})
		return false
	}
	seen[key] = v.Pos
	return true
}

// First is [Reading.Unique] for a list in which kOps lets an entry hide a later one with the same
// key. In a document of kOps the later entry is ignored. So the entries of an instance group win
// over the cluster's in a NodeupConfig.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/nodeup/config.go (NewConfig)
func (v Reading) First(seen Keys, key string) bool {
	if _, twice := seen[key]; twice && v.Doc.Dialect.Lenient {
		return false
	}
	return v.Unique(seen, key)
}

// Required reports an error for each field that an entry of a list lacks.
func (v Reading) Required(names ...string) bool {
	if v.Kind != document.KindMap {
		return false // reported already
	}
	ok := true
	for _, name := range names {
		if v.Index(name) < 0 {
			v.Error(document.Diagnostic{ID: problem.FieldMissing,
				Summary: fmt.Sprintf("%s.%s is missing", v.Path, name), Field: v.Path + "." + name,
				Hint: "add the field " + name + " here"})
			ok = false
		}
	}
	return ok
}

// Merging returns a function that puts an element into the list: in place of the one with the same
// key, or at the end. So lists merge over cluster, node group and node. The keys of the present
// elements are read once. The caller makes sure that one list has no key twice.
func Merging[T any](list *[]T, key func(T) string) func(T) {
	index := make(map[string]int, len(*list))
	for i, x := range *list {
		index[key(x)] = i
	}
	return func(x T) {
		if i, ok := index[key(x)]; ok {
			(*list)[i] = x
			return
		}
		*list = append(*list, x)
	}
}

// Entries reads a list of mappings, which replaces the list of an earlier document. It keeps the
// origin of each entry, for example of "spec.networking.custom.ports[0]".
//
//go:noinline
func Entries[T any](name string, to *[]T, fields func(*T) []Field, required ...string) Field {
	return Field{Name: name, Set: func(v Reading) {
		v.forget(len(*to))
		*to = nil
		v.List(func(item Reading) {
			var x T
			item.Mapping(fields(&x))
			item.Required(required...)
			item.Origins[item.Path] = item.Origin()
			*to = append(*to, x)
		})
	}}
}

// Each reads a list whose entries are read by one. It replaces the list of an earlier document.
func Each[T any](name string, to *[]T, one func(*T) Set) Field {
	return Field{Name: name, Set: func(v Reading) {
		*to = nil
		v.List(func(item Reading) {
			var x T
			one(&x)(item)
			*to = append(*to, x)
		})
	}}
}

// Names reads a list of strings as [Texts] does, and keeps the origin of each.
func Names(name string, to *[]string, valid func(string) string) Field {
	return Field{Name: name, Set: func(v Reading) {
		v.forget(len(*to))
		Texts(name, to, valid).Set(v)
		for i, item := range v.Items {
			v.Origins[Index(v.Path, i)] = v.Doc.Origin(item.Pos)
		}
	}}
}

// forget removes the origins of the entries of an earlier document's list.
func (v Reading) forget(was int) {
	for i := range was {
		delete(v.Origins, Index(v.Path, i))
	}
}

// Index returns the path of a list's entry.
func Index(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }
