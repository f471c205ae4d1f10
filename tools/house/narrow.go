package house

import (
	"go/types"
	"maps"
	"slices"
)

// The bounds on the interfaces by which a kind of task and the rest know each other.
const (
	maxTask  = 5
	maxField = 6
)

// wideFields lists the fields of host.View with too many methods still, with the reason.
var wideFields = map[string]string{
	"Files": "not yet cut: what a path is, what it holds, and whether it can be written",
}

// Narrow bounds the two interfaces that a kind of task goes by: what it must do, and what it reads.
var Narrow = rule("narrow", "tasks.Task has at most 5 methods, each interface in host.View at most 6", func(p *pass) {
	at, ours := p.within()
	files := p.sources()
	if !ours || len(files) == 0 {
		return
	}
	named := map[string]string{"pkg/tasks": "Task", "pkg/host": "View"}[at]
	if named == "" {
		return
	}
	name := p.Pkg.Scope().Lookup(named)
	if name == nil {
		p.say(files[0].Package, "there is no %s here, which tools/house/narrow.go bounds: name there what it is now", named)
		return
	}
	switch t := name.Type().Underlying().(type) {
	case *types.Interface:
		if n := countMethods(t); n > maxTask {
			p.say(name.Pos(), "%s has %d methods, at most %d: let a function ask for what few kinds know, as NeedsOf "+
				"does; who adds a kind has to write each of them", named, n, maxTask)
		}
	case *types.Struct:
		p.fields(name, t)
	}
})

// fields holds each interface in a view to its bound.
func (p *pass) fields(view types.Object, t *types.Struct) {
	idle := maps.Clone(wideFields)
	for field := range t.Fields() {
		if n := countMethods(field.Type()); types.IsInterface(field.Type()) && n > maxField {
			if idle[field.Name()] == "" {
				p.say(field.Pos(), "%s has %d methods, at most %d: make two fields of it; a test of a kind has to give "+
					"all that the kind might ask", field.Name(), n, maxField)
			}
			delete(idle, field.Name())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		p.say(view.Pos(), "%s is not over the bound: remove its line from the list in tools/house/narrow.go: "+
			"wideFields (%s)", name, idle[name])
	}
}
