package house

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// The bounds on what one type can do.
const (
	maxMethods    = 25
	maxFuncFields = 3
)

// manyMethods lists the types that have too many methods still, with the reason. A line goes when
// its type is cut.
var manyMethods = map[string]string{
	"pkg/host/facts.gatherer": "one for each thing that is true of a host",
	"pkg/model.builder":       "not yet cut: one for each part of a node",
	"pkg/tasks.Archive":       "a kind's methods and Meta's, with what it keeps beside the members",
}

// Methods bounds how much one type does.
var Methods = rule("methods", "a type has at most 25 methods, those of what it embeds counted", func(p *pass) {
	p.hold("methods.go: manyMethods", manyMethods, func(name *types.TypeName) bool {
		return countMethods(name.Type()) > maxMethods
	}, func(name *types.TypeName) {
		p.say(name.Pos(), "type %s has %d methods, at most %d, those of what it embeds counted: give its parts types "+
			"of their own, in fields with names; "+
			"who reads one of so many methods must know all that they share", name.Name(), countMethods(name.Type()),
			maxMethods)
	})
})

// countMethods counts the methods of a type, and of a pointer to it.
func countMethods(t types.Type) int {
	if types.IsInterface(t) {
		return types.NewMethodSet(t).Len()
	}
	return types.NewMethodSet(types.NewPointer(t)).Len()
}

// manyFuncs lists the structs that have too many fields of a func type still, with the reason.
var manyFuncs = map[string]string{
	"pkg/checkpoint/probe.Means": "each is left out where there is none: of a node without a store, say",
	"pkg/graph.RunOptions":       "each has a default, which most runs take",
}

// FuncFields bounds how much of what a struct does is decided elsewhere.
var FuncFields = rule("funcfields", "a struct has at most 3 fields of a func type", func(p *pass) {
	p.hold("methods.go: manyFuncs", manyFuncs, func(name *types.TypeName) bool {
		s, ok := name.Type().Underlying().(*types.Struct)
		return ok && countFuncs(s) > maxFuncFields
	}, func(*types.TypeName) {})
	if at, ours := p.within(); !ours || !bounded(at) {
		return
	}
	for _, f := range p.sources() {
		exempt := map[ast.Expr]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				exempt[n.Type] = manyFuncs[p.typeName(n.Name.Name)] != ""
			case *ast.StructType:
				s, ok := p.TypesInfo.TypeOf(n).(*types.Struct)
				if ok && !exempt[n] && countFuncs(s) > maxFuncFields {
					p.say(n.Pos(), "struct with %d fields of a func type, at most %d: make an interface of what "+
						"belongs together; "+
						"a call through a field is seen by no reader of the call", countFuncs(s), maxFuncFields)
				}
			}
			return true
		})
	}
})

func countFuncs(s *types.Struct) (funcs int) {
	for field := range s.Fields() {
		if _, ok := field.Type().Underlying().(*types.Signature); ok {
			funcs++
		}
	}
	return funcs
}

// bounded says that the rules on sizes of types and packages hold for a package.
func bounded(at string) bool { return below(at, "pkg") || below(at, "cmd") }

// typeName is a type of the package as lists have it: pkg/host.Live.
func (p *pass) typeName(name string) string {
	at, _ := p.within()
	return at + "." + name
}

// hold says of each type of the package that is over a bound, and of each line of a list that names
// one which is not, or none.
func (p *pass) hold(list string, exempt map[string]string, over func(*types.TypeName) bool, say func(*types.TypeName)) {
	at, ours := p.within()
	files := p.sources()
	if !ours || !bounded(at) || len(files) == 0 {
		return
	}
	within := map[string]bool{}
	for _, f := range files {
		within[p.fileName(f)] = true
	}
	idle := map[string]bool{}
	for line := range exempt {
		if pkg, name, _ := strings.Cut(line, "."); pkg == at {
			idle[name] = true
		}
	}
	for _, name := range p.Pkg.Scope().Names() {
		typed, ok := p.Pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || typed.IsAlias() || !within[p.file(typed.Pos())] || !over(typed) {
			continue
		}
		if !idle[name] {
			say(typed)
		}
		delete(idle, name)
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		p.say(files[0].Package, "type %s is not over the bound: remove its line from the list in tools/house/%s (%s)",
			name, list, exempt[at+"."+name])
	}
}
