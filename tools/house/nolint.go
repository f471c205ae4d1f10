package house

import (
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// NoLint holds the comments that silence a rule to their form.
var NoLint = &analysis.Analyzer{
	Name: "nolint",
	Doc:  "a nolint comment names a house rule and gives the reason",
	Run: func(p *analysis.Pass) (any, error) {
		eachNoLint(p, func(c *ast.Comment, linter, rule, reason string) {
			switch {
			case linter != "house":
				p.Reportf(c.Pos(), "no linter %q runs here, so the comment silences nothing: remove it, or write //nolint:house RULE reason", linter)
			case !isRule(rule):
				p.Reportf(c.Pos(), "there is no house rule %q: write //nolint:house RULE reason", rule)
			case len(strings.Fields(reason)) < 2:
				p.Reportf(c.Pos(), "say why rule %s does not hold here, in words: the next reader must be able to judge it", rule)
			}
		})
		return nil, nil
	},
}

// isRule asks a list of names, because Rules itself needs NoLint.
func isRule(name string) bool {
	switch name {
	case "hostonly", "layers", "dumps", "noinit", "lazyregexp", "noexit", "ctxfield", "cause", "wrap", "plurals", "size", "circle", "names", "secrets",
		"pipes", "methods", "narrow", "funcfields", "columns", "typenames", "packages", "words", "docs", "doclinks":
		return true
	}
	return false
}

// silences finds the comments that silence one rule and have a reason; those without silence
// nothing.
func silences(p *analysis.Pass, name string) map[place]*silence {
	found := map[place]*silence{}
	eachNoLint(p, func(c *ast.Comment, linter, rule, reason string) {
		if linter == "house" && rule == name && len(strings.Fields(reason)) >= 2 {
			at := p.Fset.Position(c.Pos())
			found[place{at.Filename, at.Line}] = &silence{pos: c.Pos()}
		}
	})
	return found
}

func eachNoLint(p *analysis.Pass, visit func(c *ast.Comment, linter, rule, reason string)) {
	for _, f := range p.Files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				text, ok := strings.CutPrefix(c.Text, "//nolint")
				if !ok {
					continue
				}
				linter, rest, _ := strings.Cut(strings.TrimPrefix(text, ":"), " ")
				rest, _, _ = strings.Cut(rest, "//") // another comment on the same line is not the reason
				rule, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
				visit(c, linter, rule, reason)
			}
		}
	}
}
