package house

import (
	"go/ast"
	"go/constant"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// NoInit forbids func init.
var NoInit = rule("noinit", "no func init", func(p *pass) {
	for _, f := range p.sources() {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				p.say(fn.Pos(), "func init runs before main in an order that imports decide, costs every start, and cannot be tested: "+
					"write an explicit list or a constructor")
			}
		}
	}
})

// LazyRegexp keeps regular expressions from being compiled before main, and compiles those that are
// compiled at their first use only.
var LazyRegexp = rule("lazyregexp", "no regular expression is compiled before main, and each constant one compiles", func(p *pass) {
	if at, ours := p.within(); !ours || !below(at, "pkg") && !below(at, "cmd") {
		return
	}
	for _, f := range p.sources() {
		ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn, ok := typeutil.Callee(p.TypesInfo, call).(*types.Func)
			if !ok || fn.Pkg() == nil || len(call.Args) != 1 {
				return true
			}
			early := !slices.ContainsFunc(stack, func(around ast.Node) bool {
				switch around.(type) {
				case *ast.FuncDecl, *ast.FuncLit:
					return true
				}
				return false
			})
			switch {
			case fn.Pkg().Path() == "regexp" && fn.Name() == "MustCompile" && early:
				p.say(call.Pos(), "regexp.MustCompile before main costs every start, whichever command runs: use lazyregexp.New")
			case fn.Pkg().Path() == module+"/pkg/lazyregexp" && fn.Name() == "New":
				if value := p.TypesInfo.Types[call.Args[0]].Value; value != nil {
					if _, err := regexp.Compile(constant.StringVal(value)); err != nil {
						p.say(call.Pos(), "this expression panics at its first use: %v", err)
					}
				}
			}
			return true
		})
	}
})

// NoExit keeps the end of the process in package main.
var NoExit = rule("noexit", "no os.Exit, log.Fatal or panic outside package main", func(p *pass) {
	if p.Pkg.Name() == "main" {
		return
	}
	for _, f := range p.sources() {
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			switch used := p.TypesInfo.Uses[id].(type) {
			case *types.Builtin:
				if used.Name() == "panic" {
					p.say(id.Pos(), "panic outside package main: return an error; one broken task must not take the others and the daemon along")
				}
			case *types.Func:
				if ends(used) {
					p.say(id.Pos(), "%s outside package main: return an error; the process that ends here cleans nothing up, reports nothing and "+
						"cannot be tested", funcName(used))
				}
			}
			return true
		})
	}
})

// ends tells that a function ends the process.
func ends(fn *types.Func) bool {
	if fn.Pkg() == nil {
		return false
	}
	name := fn.Name()
	switch fn.Pkg().Path() {
	case "os", "syscall", "golang.org/x/sys/unix":
		return name == "Exit"
	case "log", "go.uber.org/zap", "k8s.io/klog/v2":
		return strings.HasPrefix(name, "Fatal") || strings.HasPrefix(name, "Panic") || strings.HasPrefix(name, "DPanic")
	case "github.com/spf13/cobra":
		return name == "CheckErr"
	}
	return false
}

// CtxField forbids a context in a struct.
var CtxField = rule("ctxfield", "no context.Context in a struct", func(p *pass) {
	for _, f := range p.sources() {
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range s.Fields.List {
				if isNamed(p.TypesInfo.TypeOf(field.Type), "context", "Context") {
					p.say(field.Pos(), "context.Context in a struct: pass it as the first parameter; a stored context outlives its call, and nobody can tell what cancels what")
				}
			}
			return true
		})
	}
})

// Cause demands a cause of every cancellation.
var Cause = rule("cause", "contexts are cancelled with a cause", func(p *pass) {
	for _, f := range p.sources() {
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			fn, ok := p.TypesInfo.Uses[id].(*types.Func)
			if ok && fn.Pkg() != nil && fn.Pkg().Path() == "context" && slices.Contains([]string{"WithCancel", "WithTimeout", "WithDeadline"}, fn.Name()) {
				p.say(id.Pos(), "context.%s without a cause: use context.%sCause, so that \"context canceled\" always says who gave up and why", fn.Name(), fn.Name())
			}
			return true
		})
	}
})

// isNamed tells that t is the named type, or an alias of it.
func isNamed(t types.Type, pkg, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == pkg
}
