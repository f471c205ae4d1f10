// Package decode reads a document into Go values, field by field. It keeps the origin of each
// value, and reports problems there. It does not know which fields exist: the caller passes lists
// of fields.
package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Decoder reads one document's tree into Go values. To merge documents, one decoder for each
// document reads into the same target. A field that a document does not set keeps the value of the
// documents before it.
type Decoder struct {
	Doc          *Doc
	Origins      Origins
	Checks       bool           // what this release newly refuses is an error, not a warning
	Hints        Hints          // nil: there are no hints
	descriptions *[]Description // set: mappings describe their fields and read nothing
	unset        bool           // the field that was just read counts as not set
}

// Hints give advice about mistakes in a document, from a caller that knows its fields. Each method
// returns "" if it has no advice.
type Hints interface {
	Home(key string) string              // where a misplaced field belongs
	Empty(path string) string            // what to do about a field without a value
	Instead(path, written string) string // what to write instead of a text in place of a mapping
}

// Set reads a value of the document. It reports problems itself.
type Set func(v Reading)

// Field is one name that a mapping may have. The lists of fields are explicit, where other programs
// use reflection.
type Field struct {
	Name      string
	Set       Set
	to        any // where Set stores the value, if the field may have a default
	otherwise any // the default; nil: there is none
	about     string
	unlisted  bool
	newer     bool
	ofKops    bool // the default is kOps'
}

// Unlisted returns f as a field that is accepted, but that lists of fields leave out.
func (f Field) Unlisted() Field {
	f.unlisted = true
	return f
}

// About returns f with a description for the manual. It is for a field that has no struct field
// with a comment.
func (f Field) About(what string) Field {
	f.about = what
	return f
}

// Newer returns f as a field that earlier releases of the agent do not know: see [Decoder.Newer].
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

// field reads one field and keeps its origin. An entry of a list keeps its own origin, by its key
// and not by its number.
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

// toGive returns what to do about a field without a value.
func (d *Decoder) toGive(path string) string {
	if d.Hints != nil {
		if hint := d.Hints.Empty(path); hint != "" {
			return hint
		}
	}
	return "give it one, or take the line out; an empty mapping is {}, an empty list []"
}

// Newer warns about a field for which earlier releases of the agent refuse the whole document. It
// warns only where documents are checked, because a node that reads the field knows it. In a
// document of kOps those releases ignore unknown fields.
func (d *Decoder) Newer(p document.Pos, path, what string) {
	if d.Checks && !d.Doc.Dialect.Lenient {
		d.Doc.WarnAt(p, document.Diagnostic{ID: problem.FieldNewer,
			Summary: what + " is newer than agents of earlier releases, which refuse the document for it", Field: path,
			Hint: "a node with such an agent goes on with what it has, and follows the store no more: first upgrade " +
				"all that read this store"})
	}
}

// Into returns a field that is a nested mapping.
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

// Unread returns a field that is accepted and ignored, because only other programs read it.
func Unread(name string) Field {
	return Field{Name: name, Set: func(Reading) {}}
}

// Join returns the path of a field below another one, or at the top of a document.
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
