package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/problem"
)

// decoder reads one document's tree into Go values. Each level of the merge is one decoder over the
// same target: what a document does not say stays as the documents before it left it.
type decoder struct {
	doc     *document
	origins origins
	kinds   []string     // of keys: what spec.drift may name
	files   []host.Named // of the store, sorted: what fileAssets name by source
	checks  bool         // for [CheckAll]: what is newly refused is an error, and not a warning
	told    *[]Field     // set: mappings tell their fields and read nothing
}

// set takes a value of the document; path is the field's full path. It reports what is wrong
// itself.
type set func(v *value, path string)

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
func (d *decoder) mapping(v *value, at string, fields []field) {
	if d.told != nil {
		d.tell(at, fields)
		return
	}
	if v.kind != kindMap {
		d.wrongKind(v, at, "a mapping")
		return
	}
	for i := range v.entries {
		e := &v.entries[i]
		name := d.doc.dialect.spell(at, e.key)
		path := join(at, name)
		f := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		switch {
		case f < 0:
			d.unknownField(e, at, fields)
		case e.value.kind == kindNull && d.doc.dialect.skips(at):
		case e.value.kind == kindNull:
			d.doc.errorAt(e.pos, Diagnostic{ID: problem.FieldEmpty, Summary: fmt.Sprintf("field %q has no value", e.key), Field: path,
				Hint: toGive(path)})
		default:
			if !strings.Contains(at, "[") { // entries of lists keep their own origin, by key and not by number
				d.origins[path] = d.doc.origin(e.pos)
			}
			if fields[f].newer {
				d.newer(e.pos, path, "the field "+path)
			}
			fields[f].set(e.value, path)
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
func (d *decoder) newer(p pos, path, what string) {
	if d.checks {
		d.doc.warnAt(p, Diagnostic{ID: problem.FieldNewer, Summary: what + " is newer than agents of earlier releases, which refuse the document for it", Field: path,
			Hint: "a node with such an agent goes on with what it has, and follows the store no more: first upgrade all that read this store"})
	}
}

// into is the set of a nested mapping.
func (d *decoder) into(fields func() []field) set {
	return func(v *value, path string) { d.mapping(v, path, fields()) }
}

// list calls item for each entry of v, which must be a list.
func (d *decoder) list(item set) set {
	return func(v *value, path string) {
		if v.kind != kindList {
			d.wrongKind(v, path, "a list")
			return
		}
		for i, it := range v.items {
			item(it, fmt.Sprintf("%s[%d]", path, i))
		}
	}
}

// ignore takes a field that others read and we do not.
func (d *decoder) ignore(*value, string) {}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func (d *decoder) unknownField(e *entry, at string, fields []field) {
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
	diag := Diagnostic{ID: problem.FieldUnknown, Summary: fmt.Sprintf("unknown field %q", clip(e.key)), Field: join(at, clip(e.key)), Expected: oneOf(listed)}
	if near := nearest(e.key, names); near != "" {
		diag.Hint = fmt.Sprintf("did you mean %q?", near)
	} else if elsewhere := homeOf(e.key); elsewhere != "" && at != "" {
		diag.Hint = elsewhere
	}
	diag.Hint = also(diag.Hint, e.key)
	d.doc.errorAt(e.pos, diag)
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
func (d *decoder) wrongKind(v *value, path, expected string) {
	diag := Diagnostic{ID: problem.FieldType, Summary: fmt.Sprintf("%s is %s", cmp.Or(path, "the document"), d.show(v, path)), Field: path, Expected: expected}
	switch {
	case expected == "a list" && v.kind == kindMap:
		diag.Hint = "begin each entry with a dash: - value"
	case expected == "a mapping":
		diag.Hint = toMap(path, v)
	case expected == "a list" && v.kind == kindString:
		diag.Hint = fmt.Sprintf("write it as a list: [%s]", d.shownText(v, path))
	case strings.HasPrefix(expected, "a string") && v.kind <= kindFloat && v.kind != kindNull:
		diag.Hint = fmt.Sprintf("put it in quotes: %q", d.shownText(v, path))
	}
	if v.kind == kindString {
		diag.Hint = also(diag.Hint, v.text)
	}
	d.doc.errorAt(v.pos, diag)
}

// toMap says how to make a mapping of what was written in its place.
func toMap(path string, v *value) string {
	const empty = "its fields go below it, further in; without any it is {}"
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case v.kind == kindString && path == "spec.networking" && validName(strings.ToLower(v.text)) == "":
		return fmt.Sprintf("write it as %s: {%s: {}}", name, clip(v.text))
	case v.kind == kindString && gluedField.MatchString(v.text):
		return "a blank is missing after the colon"
	case v.kind == kindList:
		return "it is one mapping, and no list: take the dashes or brackets out"
	}
	return empty
}

// bad reports a value of the right kind that is wrong.
func (d *decoder) bad(v *value, path, expected, hint string) {
	if v.kind == kindString && !strings.Contains(expected, "${") { // of which the field takes some
		hint = also(hint, v.text)
	}
	d.doc.errorAt(v.pos, Diagnostic{ID: problem.FieldValue, Summary: fmt.Sprintf("%s is %s", path, d.show(v, path)), Field: path, Expected: expected, Hint: hint})
}

// show names a value in a summary: its text when that is short and no secret.
func (d *decoder) show(v *value, path string) string {
	if v.kind == kindMap || v.kind == kindList || v.kind == kindNull {
		return v.kind.String()
	}
	text := d.shownText(v, path)
	if v.kind == kindString {
		return fmt.Sprintf("the string %q", text)
	}
	return text
}

func (d *decoder) shownText(v *value, path string) string {
	if isSecretKey(path[strings.LastIndexByte(path, '.')+1:]) {
		return notShown
	}
	return clip(maskURLs(v.text))
}

// clip keeps a quoted text short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
