package house

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// The bounds on sizes, in lines.
const (
	maxFile     = 400
	maxFunction = 80
)

// Size bounds files and functions.
var Size = rule("size", "files of at most 400 lines, functions of at most 80", func(p *pass) {
	for _, f := range p.sources() {
		if lines := p.Fset.File(f.Package).LineCount(); lines > maxFile {
			p.say(f.Package, "file of %d lines, at most %d: split it by what changes for one reason; what is longer is not read, only searched", lines, maxFile)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := p.Fset.Position(fn.End()).Line - p.Fset.Position(fn.Pos()).Line + 1; lines > maxFunction {
				p.say(fn.Pos(), "function of %d lines, at most %d: give its steps names", lines, maxFunction)
			}
		}
	}
})

// Names refuses packages that are named for nothing, and the library that hides what a program
// does.
var Names = rule("names", "no package named for nothing, no reflection", func(p *pass) {
	if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}, p.Pkg.Name()) {
		p.say(p.Files[0].Name.Pos(), "package %s: name it for what it does; in a package for everything nobody finds anything, and all depend on it", p.Pkg.Name())
	}
	at, ours := p.within()
	if !ours || !below(at, "pkg") && !below(at, "cmd") {
		return
	}
	for _, f := range p.sources() {
		for _, spec := range f.Imports {
			if path, _ := strconv.Unquote(spec.Path.Value); path == "reflect" || strings.HasPrefix(path, "reflect/") {
				p.say(spec.Pos(), "import of reflect: write the cases out; edges and calls that only exist at run time are seen by no compiler and no reader")
			}
		}
	}
})
