package house

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode"
)

// Docs holds comments to their declarations: who renames one changes both, and what other packages
// use says what it is.
var Docs = rule("docs", "what a package exports has a comment, and a comment begins with the name that it stands at",
	func(p *pass) {
		at, ours := p.within()
		if !ours || !bounded(at) {
			return
		}
		for _, f := range p.sources() {
			for _, decl := range f.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					p.checkDoc(d.Name, d.Doc, d.Recv == nil)
				case *ast.GenDecl:
					for _, spec := range d.Specs {
						p.checkSpec(d, spec)
					}
				}
			}
		}
	})

func (p *pass) checkSpec(d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if d.Lparen == token.NoPos {
			p.checkDoc(s.Name, d.Doc, true)
		} else {
			p.checkDoc(s.Name, s.Doc, d.Doc == nil && s.Comment == nil)
		}
	case *ast.ValueSpec:
		if d.Lparen == token.NoPos && len(s.Names) == 1 {
			p.checkDoc(s.Names[0], d.Doc, s.Comment == nil)
		}
	}
}

// checkDoc reports a comment that begins with another name than its declaration has, and, where
// one is needed, that there is none.
func (p *pass) checkDoc(name *ast.Ident, doc *ast.CommentGroup, needed bool) {
	if doc == nil {
		if needed && name.IsExported() {
			p.say(name.Pos(), "%s has no comment: say what it is; another package uses it, and its reader is not here", name.Name)
		}
		return
	}
	first, _, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
	first = strings.TrimRight(first, ":,;.\n")
	if first != "" && first != name.Name && token.IsIdentifier(first) && unicode.IsLower(rune(first[0])) {
		p.say(name.Pos(), "the comment of %s begins with %q: begin it with the name; who looks for the other finds none",
			name.Name, first)
	}
}
