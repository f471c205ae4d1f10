package house

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Pipes keeps the agent from waiting for the writer of a named pipe.
var Pipes = rule("pipes", "files are opened for reading without waiting for the writer of a pipe", pipes)

// waits lists the functions and methods that wait for a writer where their argument is a named
// pipe, by package.
var waits = map[string][]string{
	"os":      {"Open", "ReadFile", "OpenRoot"},
	"os/user": {"Current", "Lookup", "LookupId", "LookupGroup", "LookupGroupId"}, // of /etc/passwd and /etc/group
}

func pipes(p *pass) {
	at, ours := p.within()
	if !ours || !below(at, "pkg") && !below(at, "cmd") {
		return
	}
	for _, f := range p.sources() {
		harmless := map[ast.Node]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				harmless[calledName(n)] = len(n.Args) > 0 && noPipe(p, n.Args[0])
			case *ast.Ident:
				fn, ok := p.TypesInfo.Uses[n].(*types.Func)
				if ok && fn.Pkg() != nil && slices.Contains(waits[fn.Pkg().Path()], fn.Name()) && !harmless[n] {
					p.say(n.Pos(), "%s waits without end where it finds a named pipe: use Open or ReadFile of pkg/blob, or append \"/\" to the path "+
						"of a directory; only a constant path below /proc or /sys is no pipe", funcName(fn))
				}
			}
			return true
		})
	}
}

// calledName is the identifier of the function that a call names; nil if it names none.
func calledName(call *ast.CallExpr) ast.Node {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return fun
	case *ast.SelectorExpr:
		return fun.Sel
	}
	return nil
}

// noPipe tells that a path begins with a constant below /proc or /sys, or ends with a constant "/".
func noPipe(p *pass, path ast.Expr) bool {
	first, last := path, path
	for {
		sum, ok := first.(*ast.BinaryExpr)
		if !ok || sum.Op != token.ADD {
			break
		}
		first = sum.X
	}
	if sum, ok := last.(*ast.BinaryExpr); ok && sum.Op == token.ADD {
		last = sum.Y
	}
	if call, ok := first.(*ast.CallExpr); ok && len(call.Args) > 0 {
		if fn := callee(p, call); fn != nil && fn.FullName() == "fmt.Sprintf" {
			first = call.Args[0]
		}
	}
	text := func(e ast.Expr) string {
		if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
			return constant.StringVal(v)
		}
		return ""
	}
	return strings.HasPrefix(text(first), "/proc/") || strings.HasPrefix(text(first), "/sys/") || strings.HasSuffix(text(last), "/")
}
