package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds on a circle of files: files of one package of which each refers, directly or by
// others, to each other one.
const (
	maxCircle      = 12
	smallPackage   = 8 // files: so many can be read as one
	maxSmallCircle = 4
)

// uncut lists the packages whose circle is too large still, with the reason. A line goes when its
// package is cut.
var uncut = map[string]string{}

// Circle bounds how many files of a package can only be understood together.
var Circle = rule("circle", "at most half of a package's files, and 12, refer to each other in a circle", func(p *pass) {
	at, ours := p.within()
	if !ours || !below(at, "pkg") && !below(at, "cmd") {
		return
	}
	files := p.sources()
	limit := maxSmallCircle
	if len(files) > smallPackage {
		limit = min(len(files)/2, maxCircle)
	}
	circle := largestCircle(p, files)
	reason, exempt := uncut[at]
	switch {
	case exempt && len(circle) <= limit && len(files) > 0:
		p.say(files[0].Package, "package %s is cut now: remove its line from uncut in tools/house/circle.go (%s)", at, reason)
	case !exempt && len(circle) > limit:
		p.say(files[0].Package, "%d of %d files of package %s refer to each other in a circle, at most %d: %s: give what they share a package below; "+
			"files of a circle are one thing that is read as a whole", len(circle), len(files), at, limit, strings.Join(circle, ", "))
	}
})

// largestCircle returns the names of the files of the largest strongly connected set, sorted. A
// file refers to another by a use of what is declared there at the top, methods too; the use of a
// field counts as none, nor does a call through an interface.
func largestCircle(p *pass, files []*ast.File) []string {
	refers := map[string]map[string]bool{}
	for _, f := range files {
		own := p.fileName(f)
		refers[own] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if used := p.TypesInfo.Uses[id]; used != nil && used.Pkg() == p.Pkg && declaredAtTop(used) {
				if other := filepath.Base(p.Fset.Position(used.Pos()).Filename); other != own && !strings.HasSuffix(other, "_test.go") {
					refers[own][other] = true
				}
			}
			return true
		})
	}
	return slices.MaxFunc(append(circles(refers), nil), func(a, b []string) int { return len(a) - len(b) })
}

func (p *pass) fileName(f *ast.File) string { return p.file(f.Package) }

// file is the name of the file of a place.
func (p *pass) file(pos token.Pos) string { return filepath.Base(p.Fset.Position(pos).Filename) }

// declaredAtTop says that an object is a package's own or a method of a type that is no interface.
func declaredAtTop(o types.Object) bool {
	if fn, ok := o.(*types.Func); ok && fn.Signature().Recv() != nil {
		return !types.IsInterface(fn.Signature().Recv().Type())
	}
	return o.Parent() == o.Pkg().Scope()
}

// circles finds the strongly connected sets of more than one (Tarjan, 1972).
func circles(refers map[string]map[string]bool) (found [][]string) {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(v string)
	visit = func(v string) {
		index[v] = len(index) + 1
		low[v] = index[v]
		stack, on[v] = append(stack, v), true
		for w := range refers[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if on[w] {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		at := slices.Index(stack, v)
		circle := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, w := range circle {
			on[w] = false
		}
		if len(circle) > 1 {
			slices.Sort(circle)
			found = append(found, circle)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(refers)) {
		if index[v] == 0 {
			visit(v)
		}
	}
	return found
}
