package decode

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// Description is what the manual says about a field.
type Description struct {
	Path    string // below the network: "mtu", "etcd.endpoints"; for entries of a list "nodes[].name"
	Takes   string // in the words of the error for any other value
	Default string // "": there is none, or it depends on other values
	About   string // "": the comment on its struct field describes it
	Newer   bool   // earlier releases of the agent refuse a document that has it
}

// Describe returns fields as a decoder knows them, with the fields of mappings below them. The
// manual is generated from it.
func Describe(at string, list []Field) []Description {
	d := &Decoder{Doc: NewDoc(document.Source{}), Origins: make(Origins), descriptions: &[]Description{}}
	d.At(&document.Value{}, at).Mapping(list)
	return *d.descriptions
}

// Describing reports whether fields are described and not read.
func (d *Decoder) Describing() bool { return d.descriptions != nil }

// describe records fields instead of reading them.
func (d *Decoder) describe(at string, fields []Field) {
	for _, f := range fields {
		if f.unlisted {
			continue
		}
		i := len(*d.descriptions)
		*d.descriptions = append(*d.descriptions, Description{Path: Join(at, f.Name), About: f.about, Newer: f.newer})
		words := takes(d, f.Set, Join(at, f.Name))
		(*d.descriptions)[i].Takes = words
	}
}

// takes returns which values a setter accepts. It passes values that no setter accepts, and uses
// what the diagnostic says was expected.
func takes(d *Decoder, set Set, path string) string {
	nothing, odd := &document.Value{Pos: document.Pos{Line: 1, Column: 1}},
		&document.Value{Kind: document.KindString, Text: "\x00", Pos: document.Pos{Line: 1, Column: 1}}
	list := func(v *document.Value) *document.Value {
		return &document.Value{Kind: document.KindList, Pos: v.Pos, Items: []*document.Value{v}}
	}
	takes, of := wants(d, set, nothing, path), ""
	if takes == "a list" {
		of = "a list: "
		if takes = wants(d, set, list(nothing), path); takes == "a mapping" {
			return "a list"
		}
		odd = list(odd)
	}
	if takes == "a string" {
		if form := wants(d, set, odd, path); form != "anything" {
			takes = form
		}
	}
	for _, detail := range []string{", and this is ", ", at most 253 "} { // about one value, or not needed in a table
		takes, _, _ = strings.Cut(takes, detail)
	}
	return of + strings.TrimPrefix(takes, "a string: ")
}

// wants returns what a setter's diagnostic says was expected. A mapping reports nothing here. It
// describes its own fields.
func wants(d *Decoder, set Set, v *document.Value, path string) string {
	d.Doc.Diags = nil
	before := len(*d.descriptions)
	set(d.At(v, path))
	switch {
	case len(*d.descriptions) > before:
		return "a mapping"
	case len(d.Doc.Diags) > 0:
		return d.Doc.Diags[0].Expected
	}
	return "anything"
}
