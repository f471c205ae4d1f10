package main

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/analysis/facts/directives"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// staticchecks are all checks of staticcheck, those too that it leaves out by default: what is
// wrong is mended, not listed. As its own command has it, a finding is silenced on its line by
//
//	//lint:ignore SA1019 the reason
func staticchecks() []*analysis.Analyzer {
	all := []*analysis.Analyzer{silencable(unusedCode)}
	for _, check := range slices.Concat(simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers) {
		all = append(all, silencable(check.Analyzer))
	}
	names := make([]string, 0, len(all))
	for _, a := range all {
		names = append(names, a.Name)
	}
	return append(all, comments(names))
}

// silencable is a check that heeds comments, and says which of them silence nothing.
func silencable(check *analysis.Analyzer) *analysis.Analyzer {
	a := *check
	a.Requires = append(slices.Clone(check.Requires), directives.Analyzer)
	a.Run = func(pass *analysis.Pass) (any, error) {
		silent := map[place]token.Pos{}
		for _, d := range pass.ResultOf[directives.Analyzer].([]lint.Directive) {
			if d.Command == "ignore" && len(d.Arguments) > 1 && d.Arguments[0] == a.Name {
				silent[at(pass, d.Node.Pos())] = d.Directive.Pos()
			}
		}
		used := map[place]bool{}
		heeding := *pass
		heeding.Report = func(d analysis.Diagnostic) {
			if _, ok := silent[at(pass, d.Pos)]; ok {
				used[at(pass, d.Pos)] = true
				return
			}
			d.Message += " (" + a.Name + ")"
			pass.Report(d)
		}
		result, err := check.Run(&heeding)
		for where, pos := range silent {
			if !used[where] {
				pass.Reportf(pos, "there is nothing for this comment to silence: remove it")
			}
		}
		return result, err
	}
	return &a
}

// place is a line.
type place struct {
	file string
	line int
}

func at(pass *analysis.Pass, pos token.Pos) place {
	p := pass.Fset.Position(pos)
	return place{p.Filename, p.Line}
}

// comments holds those that silence a check to their form.
func comments(checks []string) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:     "comments",
		Doc:      "a comment that silences staticcheck names a check and gives the reason",
		Requires: []*analysis.Analyzer{directives.Analyzer},
		Run: func(pass *analysis.Pass) (any, error) {
			for _, d := range pass.ResultOf[directives.Analyzer].([]lint.Directive) {
				if d.Command != "ignore" || len(d.Arguments) < 2 || !slices.Contains(checks, d.Arguments[0]) {
					pass.Reportf(d.Directive.Pos(), "this comment silences nothing: write //lint:ignore CHECK reason, with one check's name")
				}
			}
			return nil, nil
		},
	}
}

// unusedCode reports what package unused finds and leaves to staticcheck's command. That looks at a
// package with its tests and without; go vet looks at it with its tests, where the same is used and
// more.
var unusedCode = &analysis.Analyzer{
	Name:     "U1000",
	Doc:      "unused code",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		type object struct {
			file, name string
			line       int
		}
		key := func(o unused.Object) object {
			return object{filepath.Base(o.Position.Filename), o.Name, o.Position.Line}
		}
		found := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
		used := map[object]bool{}
		for _, o := range found.Used { // an instance of what is generic stands where that stands
			used[key(o)] = true
		}
		for _, o := range found.Unused {
			if used[key(o)] {
				continue
			}
			pos, err := position(pass, o.Position)
			if err != nil {
				return nil, err
			}
			pass.Reportf(pos, "%s %s is unused", o.Kind, o.Name)
		}
		return nil, nil
	},
}

// position is what a place in a file is to analyzers.
func position(pass *analysis.Pass, p token.Position) (token.Pos, error) {
	for _, f := range pass.Files {
		if file := pass.Fset.File(f.Package); file.Name() == p.Filename {
			return file.Pos(p.Offset), nil
		}
	}
	return token.NoPos, fmt.Errorf("no file of %s is %s", pass.Pkg.Path(), p.Filename)
}
