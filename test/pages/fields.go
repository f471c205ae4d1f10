package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/netwright/netwright/pkg/config"
)

// Meanings are the comments on the fields of config's types: by type, then by name in documents.
type Meanings map[string]map[string]meaning

type meaning struct {
	words string
	typ   string // of its own, where it has fields
}

// ReadMeanings reads them from the source of package config.
func ReadMeanings(dir string) (Meanings, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list the source of package config: %w", err)
	}
	out := Meanings{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read the comments of package config: %w", err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				out[spec.Name.Name] = fieldsIn(s)
			}
			return false
		})
	}
	return out, nil
}

var jsonName = regexp.MustCompile(`json:"([^",]+)`)

func fieldsIn(s *ast.StructType) map[string]meaning {
	out := map[string]meaning{}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		name := jsonName.FindStringSubmatch(f.Tag.Value)
		if name == nil {
			continue
		}
		out[name[1]] = meaning{words: words(f), typ: typeName(f.Type)}
	}
	return out
}

// words are a field's comment without the terms of Go.
func words(f *ast.Field) string {
	text := f.Comment.Text()
	if f.Doc != nil {
		text = f.Doc.Text() + text
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(f.Names) > 0 {
		text = strings.TrimPrefix(strings.TrimPrefix(text, f.Names[0].Name+": "), f.Names[0].Name+" ")
	}
	return strings.NewReplacer("[", "", "]", "", "nil:", "not said:", "\"\":", "not said:").Replace(text)
}

func typeName(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.ArrayType:
		return typeName(t.Elt)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// of is the meaning of a field of a network, by its path.
func (m Meanings) of(network, path string) string {
	at := m["Networking"][network]
	for name := range strings.SplitSeq(path, ".") {
		at = m[at.typ][strings.TrimSuffix(name, "[]")]
	}
	return at.words
}

// fieldsOf are the rows of a network's table of fields.
func fieldsOf(network string, meanings Meanings) [][]string {
	var rows [][]string
	for _, f := range config.NetworkFields(network) {
		rows = append(rows, []string{code(f.Path), f.Takes, code(f.Default), meanings.of(network, f.Path)})
	}
	return rows
}
