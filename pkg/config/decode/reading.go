package decode

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Reading is a value of a document while it is read, with the full path of its field and the
// decoder that reads it.
type Reading struct {
	*Decoder
	*document.Value
	Path string
}

// At returns a value at a path of the decoder's document.
func (d *Decoder) At(v *document.Value, path string) Reading { return Reading{d, v, path} }

// Field returns the value of a field of a mapping. Its Value is nil if there is none.
func (v Reading) Field(name string) Reading { return v.At(v.Get(name), v.Path+"."+name) }

// Origin returns the place of the value.
func (v Reading) Origin() document.Origin { return v.Doc.Origin(v.Pos) }

// Error reports an error in the value.
func (v Reading) Error(diag document.Diagnostic) { v.Doc.ErrorAt(v.Pos, v.about(diag)) }

// Warn is like [Reading.Error], but reports a warning.
func (v Reading) Warn(diag document.Diagnostic) { v.Doc.WarnAt(v.Pos, v.about(diag)) }

// Checked reports an error where documents are checked, and a warning elsewhere.
func (v Reading) Checked(diag document.Diagnostic) {
	if v.Checks {
		v.Error(diag)
	} else {
		v.Warn(diag)
	}
}

// about returns the diagnostic with the value's field, unless it already names a field below.
func (v Reading) about(diag document.Diagnostic) document.Diagnostic {
	diag.Field = cmp.Or(diag.Field, v.Path)
	return diag
}

// WrongKind reports a value of another kind than wanted.
func (v Reading) WrongKind(expected string) {
	diag := document.Diagnostic{ID: problem.FieldType,
		Summary: fmt.Sprintf("%s is %s", cmp.Or(v.Path, "the document"), v.Show()), Expected: expected}
	switch {
	case expected == "a list" && v.Kind == document.KindMap:
		diag.Hint = "begin each entry with a dash: - value"
	case expected == "a mapping":
		diag.Hint = toMap(v)
	case expected == "a list" && v.Kind == document.KindString:
		diag.Hint = fmt.Sprintf("write it as a list: [%s]", shownText(v))
	case strings.HasPrefix(expected, "a string") && v.Kind <= document.KindFloat && v.Kind != document.KindNull:
		diag.Hint = fmt.Sprintf("put it in quotes: %q", shownText(v))
	}
	if v.Kind == document.KindString {
		diag.Hint = Also(diag.Hint, v.Text)
	}
	v.Error(diag)
}

// toMap returns how to turn what was written into a mapping.
func toMap(v Reading) string {
	const empty = "its fields go below it, further in; without any it is {}"
	if v.Hints != nil && v.Kind == document.KindString {
		if instead := v.Hints.Instead(v.Path, v.Text); instead != "" {
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

// Bad reports a value that has the right kind and is wrong.
func (v Reading) Bad(expected, hint string) {
	if v.Kind == document.KindString && !strings.Contains(expected, "${") { // ${: the field accepts some placeholders
		hint = Also(hint, v.Text)
	}
	v.Error(document.Diagnostic{ID: problem.FieldValue, Summary: fmt.Sprintf("%s is %s", v.Path, v.Show()),
		Expected: expected, Hint: hint})
}

// Show returns a value for a summary: its text, shortened and without secrets.
func (v Reading) Show() string {
	if v.Kind == document.KindMap || v.Kind == document.KindList || v.Kind == document.KindNull {
		return v.Kind.String()
	}
	text := shownText(v)
	if v.Kind == document.KindString {
		return fmt.Sprintf("the string %q", text)
	}
	return text
}

func shownText(v Reading) string {
	if document.IsSecretKey(v.Path[strings.LastIndexByte(v.Path, '.')+1:]) {
		return document.NotShown
	}
	return document.Clip(document.MaskURLs(v.Text))
}
