package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// decoder reads one document's tree into Go values. Each level of the merge is one decoder over the
// same target: what a document does not say stays as the documents before it left it.
type decoder struct {
	doc     *specDocument
	origins origins
	checks  bool                    // what is newly refused is an error, and not a warning
	home    func(key string) string // says where a misplaced field belongs; nil, or "": nowhere
	told    *[]Description          // set: mappings tell their fields and read nothing
}

// set takes a value of the document; path is the field's full path. It reports what is wrong
// itself.
type set func(d *decoder, v *document.Value, path string)

// field is one name that a mapping may hold. Explicit lists of them stand where others use
// reflection.
type field struct {
	name     string
	set      set
	unlisted bool   // known, but not named to somebody who looks for a field
	about    string // what it is, for the manual, where no struct has a field whose comment says it
	newer    bool   // agents of earlier releases do not know it: see [decoder.newer]
}

// mapping reads v, which must be a mapping, field by field.
func (d *decoder) mapping(v *document.Value, at string, fields []field) {
	if d.telling() {
		d.tell(at, fields)
		return
	}
	if v.Kind != document.KindMap {
		d.wrongKind(v, at, "a mapping")
		return
	}
	for i := range v.Entries {
		e := &v.Entries[i]
		name := d.doc.dialect.spell(at, e.Key)
		path := join(at, name)
		f := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch {
		case f < 0:
			d.unknownField(e, at, fields)
		case e.Value.Kind == document.KindNull && d.doc.dialect.skips(at):
		case e.Value.Kind == document.KindNull:
			d.doc.ErrorAt(e.Pos, document.Diagnostic{ID: problem.FieldEmpty, Summary: fmt.Sprintf("field %q has no value", e.Key), Field: path,
				Hint: toGive(path)})
		default:
			if !strings.Contains(at, "[") { // entries of lists keep their own origin, by key and not by number
				d.origins[path] = d.doc.Origin(e.Pos)
			}
			if fields[f].newer {
				d.newer(e.Pos, path, "the field "+path)
			}
			fields[f].set(d, e.Value, path)
		}
	}
}

// toGive says what to do about a field without a value. What must be there cannot be taken out.
func toGive(path string) string {
	switch path {
	case "spec.networking":
		return "choose a network below it, for example networking: {bridge: {}}"
	case "spec.kubernetesVersion":
		return "give it one, such as 1.31.2"
	case "apiVersion", "kind", "metadata", "metadata.name", "spec":
		return "give it one: no document is without"
	}
	return "give it one, or take the line out; an empty mapping is {}, an empty list []"
}

// newer warns of what agents of earlier releases refuse the whole document for. It is for who
// checks documents: the node that reads them is none of those.
func (d *decoder) newer(p document.Pos, path, what string) {
	if d.checks {
		d.doc.WarnAt(p, document.Diagnostic{ID: problem.FieldNewer, Summary: what + " is newer than agents of earlier releases, which refuse the document for it", Field: path,
			Hint: "a node with such an agent goes on with what it has, and follows the store no more: first upgrade all that read this store"})
	}
}

// into is the set of a nested mapping.
func Into(fields func() []field) set {
	return func(d *decoder, v *document.Value, path string) { d.mapping(v, path, fields()) }
}

// list calls item for each entry of v, which must be a list.
func List(item set) set {
	return func(d *decoder, v *document.Value, path string) {
		if v.Kind != document.KindList {
			d.wrongKind(v, path, "a list")
			return
		}
		for i, it := range v.Items {
			item(d, it, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// Unread takes a field that others read and we do not.
func Unread(*decoder, *document.Value, string) {}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func (d *decoder) unknownField(e *document.Entry, at string, fields []field) {
	if d.doc.dialect.skips(at) {
		return
	}
	var names, listed []string
	for _, f := range fields {
		names = append(names, f.name)
		if !f.unlisted {
			listed = append(listed, f.name)
		}
	}
	diag := document.Diagnostic{ID: problem.FieldUnknown, Summary: fmt.Sprintf("unknown field %q", document.Clip(e.Key)), Field: join(at, document.Clip(e.Key)), Expected: oneOf(listed)}
	if near := document.Nearest(e.Key, names); near != "" {
		diag.Hint = fmt.Sprintf("did you mean %q?", near)
	} else if at != "" && d.home != nil {
		diag.Hint = d.home(e.Key)
	}
	diag.Hint = also(diag.Hint, e.Key)
	d.doc.ErrorAt(e.Pos, diag)
}

// oneOf lists names for a diagnostic.
func oneOf(names []string) string {
	switch len(names) {
	case 0:
		return "no fields at all"
	case 1:
		return names[0]
	}
	names = slices.Sorted(slices.Values(names))
	return "one of " + strings.Join(names, ", ")
}

// wrongKind reports a value of another kind than wanted.
func (d *decoder) wrongKind(v *document.Value, path, expected string) {
	diag := document.Diagnostic{ID: problem.FieldType, Summary: fmt.Sprintf("%s is %s", cmp.Or(path, "the document"), d.show(v, path)), Field: path, Expected: expected}
	switch {
	case expected == "a list" && v.Kind == document.KindMap:
		diag.Hint = "begin each entry with a dash: - value"
	case expected == "a mapping":
		diag.Hint = toMap(path, v)
	case expected == "a list" && v.Kind == document.KindString:
		diag.Hint = fmt.Sprintf("write it as a list: [%s]", d.shownText(v, path))
	case strings.HasPrefix(expected, "a string") && v.Kind <= document.KindFloat && v.Kind != document.KindNull:
		diag.Hint = fmt.Sprintf("put it in quotes: %q", d.shownText(v, path))
	}
	if v.Kind == document.KindString {
		diag.Hint = also(diag.Hint, v.Text)
	}
	d.doc.ErrorAt(v.Pos, diag)
}

// toMap says how to make a mapping of what was written in its place.
func toMap(path string, v *document.Value) string {
	const empty = "its fields go below it, further in; without any it is {}"
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case v.Kind == document.KindString && path == "spec.networking" && validName(strings.ToLower(v.Text)) == "":
		return fmt.Sprintf("write it as %s: {%s: {}}", name, document.Clip(v.Text))
	case v.Kind == document.KindString && document.GluedField.MatchString(v.Text):
		return "a blank is missing after the colon"
	case v.Kind == document.KindList:
		return "it is one mapping, and no list: take the dashes or brackets out"
	}
	return empty
}

// bad reports a value of the right kind that is wrong.
func (d *decoder) bad(v *document.Value, path, expected, hint string) {
	if v.Kind == document.KindString && !strings.Contains(expected, "${") { // of which the field takes some
		hint = also(hint, v.Text)
	}
	d.doc.ErrorAt(v.Pos, document.Diagnostic{ID: problem.FieldValue, Summary: fmt.Sprintf("%s is %s", path, d.show(v, path)), Field: path, Expected: expected, Hint: hint})
}

// show names a value in a summary: its text when that is short and no secret.
func (d *decoder) show(v *document.Value, path string) string {
	if v.Kind == document.KindMap || v.Kind == document.KindList || v.Kind == document.KindNull {
		return v.Kind.String()
	}
	text := d.shownText(v, path)
	if v.Kind == document.KindString {
		return fmt.Sprintf("the string %q", text)
	}
	return text
}

func (d *decoder) shownText(v *document.Value, path string) string {
	if document.IsSecretKey(path[strings.LastIndexByte(path, '.')+1:]) {
		return document.NotShown
	}
	return document.Clip(document.MaskURLs(v.Text))
}
