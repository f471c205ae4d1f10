// Package house has the rules of this repository that a compiler does not know, as analyzers. Each
// message says what is wrong, what to do, and why there is a rule at all.
//
// A rule is silenced for one line, on it or on the line above, by
//
//	//nolint:house RULE the reason, in words
//
// A comment without a reason, of an unknown rule, or with nothing to silence is itself a finding.
package house

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Rules lists every rule.
var Rules = []*analysis.Analyzer{
	HostOnly,
	Pipes,
	Layers,
	Dumps,
	NoInit,
	LazyRegexp,
	NoExit,
	CtxField,
	Cause,
	Wrap,
	Plurals,
	Size,
	Circle,
	Packages,
	Methods,
	Narrow,
	FuncFields,
	Columns,
	TypeNames,
	Names,
	Words,
	Docs,
	DocLinks,
	Secrets,
	NoLint,
}

// module is this repository's module path.
const module = "github.com/netwright/netwright"

// rule makes an analyzer of a check. The name is what a nolint comment says.
func rule(name, doc string, check func(*pass)) *analysis.Analyzer {
	a := &analysis.Analyzer{Name: name, Doc: doc}
	a.Run = func(ap *analysis.Pass) (any, error) {
		p := &pass{Pass: ap, silenced: silences(ap, name)}
		check(p)
		p.reportIdle()
		return nil, nil
	}
	return a
}

// pass is one rule on one package.
type pass struct {
	*analysis.Pass
	silenced map[place]*silence
}

type place struct {
	file string
	line int
}

// silence is one nolint comment for one rule.
type silence struct {
	pos  token.Pos
	used bool
}

// say reports a finding, unless a comment silences it.
func (p *pass) say(pos token.Pos, format string, args ...any) {
	at := p.Fset.Position(pos)
	for _, line := range []int{at.Line, at.Line - 1} {
		if s := p.silenced[place{at.Filename, line}]; s != nil {
			s.used = true
			return
		}
	}
	p.Reportf(pos, format, args...)
}

func (p *pass) reportIdle() {
	for _, s := range p.silenced {
		if !s.used {
			p.Reportf(s.pos, "there is nothing for this comment to silence: remove it")
		}
	}
}

// path is the import path of the package, the same for its tests.
func (p *pass) path() string {
	path, _, _ := strings.Cut(p.Pkg.Path(), " ")
	return strings.TrimSuffix(strings.TrimSuffix(path, ".test"), "_test")
}

// within is the path below the module, "." for the module itself; false for another module's
// package.
func (p *pass) within() (string, bool) {
	if p.path() == module {
		return ".", true
	}
	return strings.CutPrefix(p.path(), module+"/")
}

// sources are the files that people wrote and that are no tests.
func (p *pass) sources() []*ast.File {
	var files []*ast.File
	for _, f := range p.Files {
		if !ast.IsGenerated(f) && !strings.HasSuffix(p.Fset.Position(f.Package).Filename, "_test.go") {
			files = append(files, f)
		}
	}
	return files
}

// below tells that path is dir or lies under it.
func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
