package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// errorName matches the names of exported errors. staticcheck requires the first form for values.
var errorName = regexp.MustCompile(`^Err[A-Z]\w*$|^[A-Z]\w*Error$`)

// A caller distinguishes an exported error (docs/adr/0031-errors.md): another package or a test of
// its own names it, or its type has a method by which users and reports know it. Any other error is
// a text, and needs no name.
func TestExportedErrorsAreToldApart(t *testing.T) {
	declared := map[string]string{} // the file, by package and name
	told := map[string]bool{}
	files(t, func(name string, data []byte) {
		if path.Ext(name) != ".go" {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		dir, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
		here := path.Base(dir) + "."
		if strings.HasPrefix(dir, "pkg/") && !test {
			for _, id := range errorsOf(f) {
				declared[here+id] = name
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if in, ok := n.X.(*ast.Ident); ok && in.Name+"." != here {
					told[in.Name+"."+n.Sel.Name] = true
				}
			case *ast.Ident:
				told[here+n.Name] = told[here+n.Name] || test
			case *ast.FuncDecl:
				if n.Recv != nil && slices.Contains([]string{"Kind", "RefusedBy"}, n.Name.Name) {
					of := n.Recv.List[0].Type
					if star, ok := of.(*ast.StarExpr); ok {
						of = star.X
					}
					if id, ok := of.(*ast.Ident); ok {
						told[here+id.Name] = true
					}
				}
			}
			return true
		})
	})
	for id, file := range declared {
		if !told[id] {
			t.Errorf("%s: nobody tells %s apart: make it plain text, or begin its name with a small letter", file, id)
		}
	}
}

// errorsOf returns the names of the errors that a file exports.
func errorsOf(f *ast.File) (names []string) {
	for _, decl := range f.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !errorName.MatchString(name) })
}
