package pages

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/decode"
)

// Meanings are the comments on the fields of config's types: by type, then by name in documents.
type Meanings map[string]map[string]meaning

type meaning struct {
	words string
	typ   string // of its own, where it has fields
}

// ReadMeanings reads them from the source of packages.
func ReadMeanings(dirs ...string) (Meanings, error) {
	var files []string
	for _, dir := range dirs {
		some, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(some) == 0 {
			return nil, fmt.Errorf("list the source in %s: %w", dir, err)
		}
		files = append(files, some...)
	}
	var twice []string
	out := Meanings{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the comments of %s: %w", file, err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				if out[spec.Name.Name] != nil {
					twice = append(twice, spec.Name.Name)
				}
				out[spec.Name.Name] = fieldsIn(s)
			}
			return false
		})
	}
	if len(twice) > 0 {
		return nil, fmt.Errorf("several types are called %s: their fields cannot be told apart", strings.Join(twice, ", "))
	}
	return out, nil
}

var jsonName = regexp.MustCompile(`json:"([^",]+)`)

func fieldsIn(s *ast.StructType) map[string]meaning {
	out := map[string]meaning{}
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			continue
		}
		name := strings.ToLower(f.Names[0].Name[:1]) + f.Names[0].Name[1:]
		if f.Tag != nil {
			if tagged := jsonName.FindStringSubmatch(f.Tag.Value); tagged != nil && tagged[1] != "-" {
				name = tagged[1]
			}
		}
		out[name] = meaning{words: words(f), typ: typeName(f.Type)}
	}
	return out
}

// words are a field's comment: what follows its name and a colon, or all that stands behind the
// field.
func words(f *ast.Field) string {
	text := strings.Join(strings.Fields(f.Doc.Text()+f.Comment.Text()), " ")
	return strings.TrimSuffix(strings.TrimPrefix(text, f.Names[0].Name+": "), ".")
}

func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.ArrayType:
		return typeName(t.Elt)
	case *ast.MapType:
		return typeName(t.Value)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// of says what a field below a type is: what it says of itself, else the comment on it. A step of
// the path that is no field of Go's (an architecture, a kind of key) leads nowhere else.
func (m Meanings) of(root string, f decode.Description) string {
	at := meaning{typ: root}
	for name := range strings.SplitSeq(f.Path, ".") {
		if next, ok := m[at.typ][strings.TrimSuffix(name, "[]")]; ok {
			at = next
		} else {
			at.words = ""
		}
	}
	return cmp.Or(f.About, at.words)
}

// newNote explains the mark of [nameOf].
const newNote = "An agent of an earlier release refuses a document with a field that is marked (new)."

// nameOf is the cell with the name of a field.
func nameOf(f decode.Description) string {
	if f.Newer {
		return code(f.Path) + " (new)"
	}
	return code(f.Path)
}

// fieldsOf are the rows of a network's table of fields.
func fieldsOf(network string, meanings Meanings) [][]string {
	var rows [][]string
	for _, f := range config.NetworkFields(network) {
		rows = append(rows, []string{nameOf(f), f.Takes, code(f.Default), meanings.of(meanings["Networking"][network].typ, f)})
	}
	return rows
}
