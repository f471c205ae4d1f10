// Package decode reads what a document says into Go values, field by field, keeps where each value
// came from, and says there what is wrong with it. What fields there are it does not know: lists of
// them are given.
package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Decoder reads one document's tree into Go values. Each level of the merge is one decoder over the
// same target: what a document does not say stays as the documents before it left it.
type Decoder struct {
	Doc          *Doc
	Origins      Origins
	Checks       bool           // what is newly refused is an error, and not a warning
	Hints        Hints          // nil: there are none
	descriptions *[]Description // set: mappings describe their fields and read nothing
	unset        bool           // the field that was just read says that it is not set
}

// Hints are what somebody who knows the fields of a document can say of a mistake in it, each ""
// where there is nothing to say.
type Hints interface {
	Home(key string) string              // where a field belongs that stands in a wrong place
	Empty(path string) string            // what to do about a field without a value
	Instead(path, written string) string // what to write where a mapping is, and this text was written
}

// Set takes a value of the document. It reports what is wrong itself.
type Set func(v Reading)

// Field is one name that a mapping may hold. Explicit lists of them stand where others use
// reflection.
type Field struct {
	Name      string
	Set       Set
	to        any // where Set puts the value, of fields that may have a default
	otherwise any // the default; nil: there is none
	about     string
	unlisted  bool
	newer     bool
	ofKops    bool // the default is what kOps fills in
}

// Unlisted is f as a field that is known, but not named to somebody who looks for one.
func (f Field) Unlisted() Field {
	f.unlisted = true
	return f
}

// About is f with what it is, for the manual, where no struct has a field whose comment says it.
func (f Field) About(what string) Field {
	f.about = what
	return f
}

// Newer is f as a field that agents of earlier releases do not know: see [Decoder.Newer].
func (f Field) Newer() Field {
	f.newer = true
	return f
}

// Mapping reads v, which must be a mapping, field by field.
func (v Reading) Mapping(fields []Field) {
	if v.Describing() {
		v.describe(v.Path, fields)
		return
	}
	if v.Kind != document.KindMap {
		v.WrongKind("a mapping")
		return
	}
	for i := range v.Entries {
		e := &v.Entries[i]
		name := v.Doc.Dialect.spell(v.Path, e.Key)
		path := Join(v.Path, name)
		f := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		switch {
		case f < 0:
			v.unknownField(e, v.Path, fields)
		case e.Value.Kind == document.KindNull:
			v.Doc.ErrorAt(e.Pos, document.Diagnostic{ID: problem.FieldEmpty,
				Summary: fmt.Sprintf("field %q has no value", e.Key), Field: path,
				Hint: v.toGive(path)})
		default:
			v.field(&fields[f], e, path, inList(v.Path))
		}
	}
}

// field reads one field, and keeps where it stands. Entries of lists keep their own origin, by key
// and not by number.
func (d *Decoder) field(f *Field, e *document.Entry, path string, listed bool) {
	was, said := d.Origins[path]
	if !listed {
		d.Origins[path] = d.Doc.Origin(e.Pos)
	}
	if f.newer {
		d.Newer(e.Pos, path, "the field "+path)
	}
	f.Set(d.At(e.Value, path))
	switch {
	case !d.unset:
	case said:
		d.Origins[path] = was
	default:
		delete(d.Origins, path)
	}
	d.unset = false
}

// inList reports whether a path leads through an entry of a list.
func inList(at string) bool { return strings.Contains(at, "[") }

// toGive says what to do about a field without a value.
func (d *Decoder) toGive(path string) string {
	if d.Hints != nil {
		if hint := d.Hints.Empty(path); hint != "" {
			return hint
		}
	}
	return "give it one, or take the line out; an empty mapping is {}, an empty list []"
}

// Newer warns of what agents of earlier releases refuse the whole document for. It is for who
// checks documents: the node that reads them is none of those. In a document of kOps they pass over
// what they do not know.
func (d *Decoder) Newer(p document.Pos, path, what string) {
	if d.Checks && !d.Doc.Dialect.Lenient {
		d.Doc.WarnAt(p, document.Diagnostic{ID: problem.FieldNewer,
			Summary: what + " is newer than agents of earlier releases, which refuse the document for it", Field: path,
			Hint: "a node with such an agent goes on with what it has, and follows the store no more: first upgrade " +
				"all that read this store"})
	}
}

// Into is a nested mapping.
//
//go:noinline
func Into(name string, fields func() []Field) Field {
	return Field{Name: name, Set: func(v Reading) { v.Mapping(fields()) }}
}

// List calls item for each entry of v, which must be a list.
func (v Reading) List(item Set) {
	if v.Kind != document.KindList {
		v.WrongKind("a list")
		return
	}
	for i, it := range v.Items {
		item(v.At(it, Index(v.Path, i)))
	}
}

// Unread is a field that others read and we do not.
func Unread(name string) Field {
	return Field{Name: name, Set: func(Reading) {}}
}

// Join is the path of a field below another one, or at the top of a document.
func Join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func (d *Decoder) unknownField(e *document.Entry, at string, fields []Field) {
	if d.Doc.Dialect.skips(at) {
		return
	}
	var names, listed []string
	for _, f := range fields {
		names = append(names, f.Name)
		if !f.unlisted {
			listed = append(listed, f.Name)
		}
	}
	diag := document.Diagnostic{ID: problem.FieldUnknown,
		Summary: fmt.Sprintf("unknown field %q", document.Clip(e.Key)), Field: Join(at, document.Clip(e.Key)),
		Expected: OneOf(listed), Hint: document.DidYouMean(e.Key, names)}
	if diag.Hint == "" && at != "" && d.Hints != nil {
		diag.Hint = d.Hints.Home(e.Key)
	}
	diag.Hint = Also(diag.Hint, e.Key)
	d.Doc.ErrorAt(e.Pos, diag)
}

// OneOf lists names for a diagnostic.
func OneOf(names []string) string {
	switch len(names) {
	case 0:
		return "no fields at all"
	case 1:
		return names[0]
	}
	names = slices.Sorted(slices.Values(names))
	return "one of " + strings.Join(names, ", ")
}
