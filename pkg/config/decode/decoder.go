// Package decode reads what a document says into Go values, field by field, keeps where each value
// came from, and says there what is wrong with it. What fields there are it does not know: lists of
// them are given.
package decode

import (
	"cmp"
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

// Set takes a value of the document; path is the field's full path. It reports what is wrong
// itself.
type Set func(d *Decoder, v *document.Value, path string)

// Field is one name that a mapping may hold. Explicit lists of them stand where others use
// reflection.
type Field struct {
	Name     string
	Set      Set
	about    string
	unlisted bool
	newer    bool
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
func (d *Decoder) Mapping(v *document.Value, at string, fields []Field) {
	if d.Describing() {
		d.describe(at, fields)
		return
	}
	if v.Kind != document.KindMap {
		d.WrongKind(v, at, "a mapping")
		return
	}
	for i := range v.Entries {
		e := &v.Entries[i]
		name := d.Doc.Dialect.spell(at, e.Key)
		path := Join(at, name)
		f := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		switch {
		case f < 0:
			d.unknownField(e, at, fields)
		case e.Value.Kind == document.KindNull:
			d.Doc.ErrorAt(e.Pos, document.Diagnostic{ID: problem.FieldEmpty,
				Summary: fmt.Sprintf("field %q has no value", e.Key), Field: path,
				Hint: d.toGive(path)})
		default:
			d.field(&fields[f], e, path, inList(at))
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
	f.Set(d, e.Value, path)
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
	return Field{Name: name, Set: func(d *Decoder, v *document.Value, at string) { d.Mapping(v, at, fields()) }}
}

// List calls item for each entry of v, which must be a list.
func List(item Set) Set {
	return func(d *Decoder, v *document.Value, path string) {
		if v.Kind != document.KindList {
			d.WrongKind(v, path, "a list")
			return
		}
		for i, it := range v.Items {
			item(d, it, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// Unread is a field that others read and we do not.
func Unread(name string) Field {
	return Field{Name: name, Set: func(*Decoder, *document.Value, string) {}}
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

// WrongKind reports a value of another kind than wanted.
func (d *Decoder) WrongKind(v *document.Value, path, expected string) {
	diag := document.Diagnostic{ID: problem.FieldType,
		Summary: fmt.Sprintf("%s is %s", cmp.Or(path, "the document"), d.Show(v, path)), Field: path,
		Expected: expected}
	switch {
	case expected == "a list" && v.Kind == document.KindMap:
		diag.Hint = "begin each entry with a dash: - value"
	case expected == "a mapping":
		diag.Hint = d.toMap(path, v)
	case expected == "a list" && v.Kind == document.KindString:
		diag.Hint = fmt.Sprintf("write it as a list: [%s]", d.shownText(v, path))
	case strings.HasPrefix(expected, "a string") && v.Kind <= document.KindFloat && v.Kind != document.KindNull:
		diag.Hint = fmt.Sprintf("put it in quotes: %q", d.shownText(v, path))
	}
	if v.Kind == document.KindString {
		diag.Hint = Also(diag.Hint, v.Text)
	}
	d.Doc.ErrorAt(v.Pos, diag)
}

// toMap says how to make a mapping of what was written in its place.
func (d *Decoder) toMap(path string, v *document.Value) string {
	const empty = "its fields go below it, further in; without any it is {}"
	if d.Hints != nil && v.Kind == document.KindString {
		if instead := d.Hints.Instead(path, v.Text); instead != "" {
			return instead
		}
	}
	switch {
	case v.Kind == document.KindString && document.GluedField().MatchString(v.Text):
		return "a blank is missing after the colon"
	case v.Kind == document.KindList:
		return "it is one mapping, and no list: take the dashes or brackets out"
	}
	return empty
}

// Bad reports a value of the right kind that is wrong.
func (d *Decoder) Bad(v *document.Value, path, expected, hint string) {
	if v.Kind == document.KindString && !strings.Contains(expected, "${") { // of which the field takes some
		hint = Also(hint, v.Text)
	}
	d.Doc.ErrorAt(v.Pos, document.Diagnostic{ID: problem.FieldValue,
		Summary: fmt.Sprintf("%s is %s", path, d.Show(v, path)), Field: path, Expected: expected, Hint: hint})
}

// Show names a value in a summary: its text when that is short and no secret.
func (d *Decoder) Show(v *document.Value, path string) string {
	if v.Kind == document.KindMap || v.Kind == document.KindList || v.Kind == document.KindNull {
		return v.Kind.String()
	}
	text := d.shownText(v, path)
	if v.Kind == document.KindString {
		return fmt.Sprintf("the string %q", text)
	}
	return text
}

func (d *Decoder) shownText(v *document.Value, path string) string {
	if document.IsSecretKey(path[strings.LastIndexByte(path, '.')+1:]) {
		return document.NotShown
	}
	return document.Clip(document.MaskURLs(v.Text))
}
