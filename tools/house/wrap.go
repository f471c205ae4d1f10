package house

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
)

// Wrap demands that an error made of another one keeps it.
var Wrap = rule("wrap", "an error in an error is wrapped with %w", func(p *pass) {
	for _, f := range p.sources() {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				checkWrap(p, call)
			}
			return true
		})
	}
})

const wrapWhy = "callers ask with errors.Is whether something is absent, transient or cancelled"

func checkWrap(p *pass, call *ast.CallExpr) {
	fn := callee(p, call)
	if fn == nil || fn.Pkg() == nil || len(call.Args) == 0 {
		return
	}
	switch fn.FullName() {
	case "errors.New":
		if inner, ok := ast.Unparen(call.Args[0]).(*ast.CallExpr); ok {
			if f := callee(p, inner); f != nil && f.FullName() == "fmt.Sprintf" {
				p.say(call.Pos(), "errors.New(fmt.Sprintf(…)): use fmt.Errorf, which can wrap; %s", wrapWhy)
			}
		}
		if isErrorText(p, call.Args[0]) {
			p.say(call.Pos(), "errors.New of another error's text: return that error, or wrap it with %%w; %s", wrapWhy)
		}
	case "fmt.Errorf":
		format := p.TypesInfo.Types[call.Args[0]].Value
		if format == nil || format.Kind() != constant.String {
			return
		}
		for i, verb := range verbs(constant.StringVal(format)) {
			if i+1 >= len(call.Args) {
				continue
			}
			if lastName(call.Args[i+1]) == "ErrNotExist" && !strings.Contains(p.path(), "/test/") {
				p.say(call.Args[i+1].Pos(), "the text ends in \"file does not exist\": use problem.Missing, whose text says what is missing; "+
					"or silence this where the message names a file")
			}
			if verb == 'w' || verb == 'T' || verb == '*' {
				continue
			}
			if arg := call.Args[i+1]; isError(p.TypesInfo.TypeOf(arg)) || isErrorText(p, arg) {
				p.say(arg.Pos(), "error formatted with %%%c: use %%w; %s", verb, wrapWhy)
			}
		}
	}
}

// lastName is the name of a variable, of this package or another one; "" of other expressions.
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// isErrorText tells that an expression is err.Error().
func isErrorText(p *pass, e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Error" && len(call.Args) == 0 && isError(p.TypesInfo.TypeOf(sel.X))
}

func isError(t types.Type) bool {
	iface := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return t != nil && types.Implements(t, iface)
}

// verbs lists the verb of each argument of a format without explicit indexes; a star stands for an
// argument that is a width.
func verbs(format string) []rune {
	var all []rune
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return all
		}
		spec := strings.TrimLeft(rest, "+-# 0123456789.*")
		all = append(all, []rune(strings.Repeat("*", strings.Count(rest[:len(rest)-len(spec)], "*")))...)
		if spec == "" || spec[0] == '[' { // vet knows whether it is right; what it means is too rare to matter
			return all
		}
		if spec[0] != '%' {
			all = append(all, rune(spec[0]))
		}
		format = spec[1:]
	}
}
