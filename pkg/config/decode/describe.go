package decode

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// Description says of a field what the manual says of it.
type Description struct {
	Path    string // below the network: "mtu", "etcd.endpoints"; of a list's entries "nodes[].name"
	Takes   string // in the words of the error that any other value gets
	Default string // what is filled in where no document says it; "" is nothing, or what other values decide
	About   string // what it is; "" where the comment on its field in this package's types says so
	Newer   bool   // agents of earlier releases refuse a document that has it
}

// Describe lists fields as a decoder knows them, with those of mappings below them. The manual is
// made of it.
func Describe(at string, list []Field) []Description {
	d := &Decoder{Doc: NewDoc(document.Source{}), Origins: make(Origins), descriptions: &[]Description{}}
	d.At(&document.Value{}, at).Mapping(list)
	return *d.descriptions
}

// Describing says that fields are described, and none is read.
func (d *Decoder) Describing() bool { return d.descriptions != nil }

// describe notes fields instead of reading them.
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

// takes asks a setter: it is given values that nothing takes, and its complaint says what it wants.
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
	for _, detail := range []string{", and this is ", ", at most 253 "} { // of a value, and what no table needs
		takes, _, _ = strings.Cut(takes, detail)
	}
	return of + strings.TrimPrefix(takes, "a string: ")
}

// wants is what a setter complains that it expected; a mapping does not complain here, it describes
// its own fields.
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
