package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// fieldTable has one line for each field of the documents and of the agent's own file. The
// generator of the reference pages writes it.
//
//go:embed fields.tsv
var fieldTable string

// field is the JSON form of what explain prints about a field.
type field struct {
	Path    string   `json:"path"`
	In      string   `json:"in"`
	Takes   string   `json:"takes"`
	Default string   `json:"default,omitempty"`
	About   string   `json:"about"`
	Alike   []string `json:"alike,omitempty"` // other networks with a field of this name
	Fields  []field  `json:"fields,omitempty"`
}

// fieldNamed returns the field with this path, or all fields whose paths end in it.
func fieldNamed(name string) (found []field) {
	name = regexp.MustCompile(`\[\d*\]`).ReplaceAllString(name, "[]")
	all := allFields()
	for _, below := range []string{"", "spec.", "spec.networking."} {
		if i := slices.IndexFunc(all, func(f field) bool { return f.Path == below+name }); i >= 0 {
			return []field{whole(all, all[i])}
		}
	}
	for _, f := range all {
		if strings.HasSuffix(f.Path, "."+name) {
			found = append(found, f)
		}
	}
	if len(found) == 1 {
		found[0] = whole(all, found[0])
	}
	return found
}

func allFields() (all []field) {
	for line := range strings.Lines(fieldTable) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, field{Path: c[0], In: c[1], Takes: c[2], Default: c[3], About: c[4]})
	}
	return all
}

// whole returns a field with the fields directly below it, and with the other networks that have a
// field of this name.
func whole(all []field, f field) field {
	of, rest, inNetwork := ofNetwork(f.Path)
	for _, other := range all {
		below, isBelow := strings.CutPrefix(other.Path, f.Path)
		below = strings.TrimPrefix(strings.TrimPrefix(below, "[]"), ".")
		if isBelow && below != "" && other.Path != f.Path+below && !strings.Contains(below, ".") {
			f.Fields = append(f.Fields, other)
		}
		if its, same, ok := ofNetwork(other.Path); ok && inNetwork && same == rest && its != of {
			f.Alike = append(f.Alike, its)
		}
	}
	return f
}

// ofNetwork splits the path of a network's field into the network's name and the rest.
func ofNetwork(path string) (name, rest string, ok bool) {
	below, ok := strings.CutPrefix(path, "spec.networking.")
	name, rest, deeper := strings.Cut(below, ".")
	return name, rest, ok && deeper
}

// explainFields prints the description of fields.
func explainFields(f *cli.Flags, found []field) error {
	if !f.Text() {
		return f.Data(found)
	}
	for i, one := range found {
		if i > 0 {
			fmt.Fprintln(f.Out)
		}
		fmt.Fprintln(f.Out, one.Path)
		for _, row := range [][2]string{{"about", one.About}, {"takes", one.Takes}, {"default", one.Default},
			{"stands in", one.In}, {"also of", strings.Join(one.Alike, ", ")}} {
			if row[1] != "" {
				fmt.Fprintf(f.Out, "  %-10s %s\n", row[0], row[1])
			}
		}
		for _, below := range one.Fields {
			fmt.Fprintf(f.Out, "    %-40s %s\n", below.Path[strings.LastIndex(below.Path, ".")+1:], below.About)
		}
	}
	return nil
}

// noSuchField returns the error for an unknown field. It lists similar fields.
func noSuchField(name string) error {
	all := allFields()
	slices.SortStableFunc(all, func(a, b field) int {
		return cmp.Compare(document.Distance(a.Path, name), document.Distance(b.Path, name))
	})
	var near []string
	for _, f := range all[:mostLike] {
		near = append(near, f.Path)
	}
	return problem.KeyUnknown.Errorf("there is no field %q; fields like it, the nearest first:\n  %s", name,
		strings.Join(near, "\n  "))
}
