package ledger

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "add the fields that are new to the form of this format")

// kept has for each directory the types that a file below [Dir] has as JSON. The test follows the
// types of their fields. The kinds of tasks are those in the table of package tasks.
var kept = map[string][]string{
	"ledger":               {"Entry", "Head", "dirTime", "Revision", "Probation", "Undone", "Update", "Applied", "OperatorAction", "Pause", "APICache", "LastGood", "Boot", "pendingEffect"},
	"tasks":                {"Baseline", "pathBaseline", "unitBaseline", "receipt", "WaitConf"},
	"host/rtnl":            {"Link", "Route"}, // baselines
	"host/firewall":        {"Table"},         // a baseline
	"host/hostfs":          {"intent"},
	"checkpoint":           {"Journal", "Verdict", "watch"},
	"checkpoint/firstboot": {"Awaiting"},
	"certs/issue":          {"issuedFile"},
	"reconcile/desired":    {"Declared"},
	"reconcile/revert":     {"LedgerBefore"},
}

// testdata has each field that an agent of this format has on its disk. Nodes that are upgraded and
// downgraded read each other's files, see docs/adr/0009. So a field that is removed, or gets
// another type, needs a new format. For a new field the comment must say that an agent of before
// may leave it out. If only the name of a type changes, a person changes it in testdata, too.
func TestTheFormIsThatOfTheFormat(t *testing.T) {
	form := newForm(t)
	for dir, names := range kept {
		for _, name := range names {
			form.follow(t, path.Base(dir), name)
		}
	}
	for _, kind := range form.kinds() {
		form.follow(t, "tasks", kind)
	}
	have := slices.Sorted(maps.Keys(form.lines))
	golden := fmt.Sprintf("testdata/format-%d.txt", Format)
	data, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatalf("%v: a new format needs its form: run with -update, and see that whoever writes it first writes %s", err, FormatFile)
	}
	want := strings.Split(strings.TrimSpace(string(data)), "\n")
	for _, line := range want {
		if line != "" && !form.lines[line] {
			t.Errorf("%q has gone or is another: nodes have it on their disks: read it as before, or raise ledger.Format, and have %s written before anything else", line, FormatFile)
		}
	}
	for _, line := range have {
		if !slices.Contains(want, line) && !*update {
			t.Errorf("%q is new. If an agent that leaves it out goes on rightly, run with -update; else raise ledger.Format, and have %s written before anything else", line, FormatFile)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(golden, []byte(strings.Join(have, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// form finds from the source what the JSON of a type has.
type form struct {
	types map[string]map[string]declaration // by package and name
	lines map[string]bool                   // "package.Type.field type"
	seen  map[string]bool
}

type declaration struct {
	file *ast.File
	as   ast.Expr
}

func newForm(t *testing.T) *form {
	t.Helper()
	f := &form{types: map[string]map[string]declaration{}, lines: map[string]bool{}, seen: map[string]bool{}}
	for dir := range kept {
		f.read(t, dir)
	}
	return f
}

// read reads the types of a directory below pkg, once.
func (f *form) read(t *testing.T, dir string) {
	t.Helper()
	pkg := path.Base(dir)
	if f.types[pkg] != nil {
		return
	}
	f.types[pkg] = map[string]declaration{}
	files, err := filepath.Glob("../" + dir + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				f.types[pkg][spec.Name.Name] = declaration{file, spec.Type}
			}
			return true
		})
	}
}

// kinds returns the T of each recorded[T] in package tasks.
func (f *form) kinds() (names []string) {
	files := map[*ast.File]bool{}
	for _, d := range f.types["tasks"] {
		files[d.file] = true
	}
	for file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if made, ok := n.(*ast.IndexExpr); ok && types.ExprString(made.X) == "recorded" {
				names = append(names, types.ExprString(made.Index))
			}
			return true
		})
	}
	return names
}

// follow notes the fields of a type of ours, and the types of ours in these fields.
func (f *form) follow(t *testing.T, pkg, name string) {
	t.Helper()
	full := pkg + "." + name
	if f.seen[full] {
		return
	}
	f.seen[full] = true
	d, ok := f.types[pkg][name]
	if !ok {
		t.Fatalf("there is no type %s: correct the list of what is kept", full)
	}
	fields, ok := d.as.(*ast.StructType)
	if _, methods := d.as.(*ast.InterfaceType); methods { // its JSON shows no methods
		return
	}
	if !ok {
		f.lines[full+" "+types.ExprString(d.as)] = true
		f.within(t, pkg, d.file, d.as)
		return
	}
	for _, field := range fields.Fields.List {
		tag := ""
		if field.Tag != nil {
			text, _ := strconv.Unquote(field.Tag.Value)
			tag, _, _ = strings.Cut(strings.TrimPrefix(text, `json:"`), `"`)
		}
		key, _, _ := strings.Cut(tag, ",")
		if key == "-" {
			continue
		}
		names := []string{"(embedded)"}
		if field.Names != nil {
			names = nil
		}
		for _, n := range field.Names {
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
		for _, n := range names {
			if key != "" {
				n = key
			}
			f.lines[full+"."+n+" "+types.ExprString(field.Type)] = true
			f.within(t, pkg, d.file, field.Type)
		}
	}
}

// within follows the named types in an expression.
func (f *form) within(t *testing.T, pkg string, file *ast.File, expr ast.Expr) {
	t.Helper()
	ast.Inspect(expr, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			from := types.ExprString(n.X)
			for _, spec := range file.Imports {
				at, _ := strconv.Unquote(spec.Path.Value)
				if _, dir, ours := strings.Cut(at, "/netwright/pkg/"); ours && path.Base(at) == from {
					f.read(t, dir)
					f.follow(t, from, n.Sel.Name)
				}
			}
			return false
		case *ast.Ident:
			if _, ours := f.types[pkg][n.Name]; ours {
				f.follow(t, pkg, n.Name)
			}
		}
		return true
	})
}
