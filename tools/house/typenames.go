package house

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Why a name is several packages'.
const (
	aRole    = "what it is to its package; users say the package's name before it"
	aThing   = "the thing as it is on the machine, and the task or the undo that makes it so"
	written  = "what documents say, and what is made of it or kept of it"
	told     = "what is found or kept, and what a report or a store says of it"
	notApart = "not yet told apart"
)

// sharedNames lists the names that exported types of several packages may have, with the reason.
var sharedNames = map[string]string{
	"Client": aRole, "Command": aRole, "Entry": aRole, "Input": aRole, "Item": aRole,
	"Options": aRole, "Part": aRole, "Reader": aRole, "Request": aRole, "Result": aRole,
	"Server": aRole, "Setting": aRole, "Settings": aRole, "Source": aRole,
	"State": aRole, "Status": aRole, "Step": aRole, "Watcher": aRole, "Writer": aRole,
	"Address": aThing, "Directory": aThing, "File": aThing, "Key": aThing,
	"Keypair": aThing, "Kubeconfig": aThing, "Link": aThing, "Module": aThing, "Mount": aThing,
	"Pod": aThing, "Program": aThing, "Route": aThing, "Rule": aThing, "Sysctl": aThing,
	"Table": aThing, "Unit": aThing, "UnitState": aThing,
	"Certificate": written, "Clock": written, "Drift": written, "Field": written, "Kind": written,
	"Network": written, "Node": written, "Pause": written, "Peer": written, "Switch": written,
	"Update": written,
	"Awaits": told, "Boot": told, "Journal": told, "Note": told, "Proof": told, "Revision": told,
	"Stamps": told, "Undone": told, "Verdict": told, "Watched": told,
	"API": notApart, "Await": notApart, "Batch": notApart, "Change": notApart, "Daemon": notApart,
	"EC2": notApart, "Event": notApart, "Fetcher": notApart, "Found": notApart, "Host": notApart,
	"Hooks": notApart, "Manifest": notApart, "Object": notApart, "Pin": notApart,
	"Policy": notApart, "RefusedError": notApart, "Set": notApart, "Sources": notApart, "Waiting": notApart,
}

// top is the package that imports all others, itself or by others.
const top = "cmd/agent"

// typesOf are the exported types of a package and of all that it imports, sorted.
type typesOf struct{ All []typeOf }

type typeOf struct{ Name, Package string }

func (*typesOf) AFact() {}

// TypeNames holds a name to one type.
var TypeNames = typeNames()

func typeNames() *analysis.Analyzer {
	a := rule("typenames", "no two packages have an exported type of one name, but for those on a list", func(p *pass) {
		at, ours := p.within()
		files := p.sources()
		if !ours || !bounded(at) || len(files) == 0 {
			return
		}
		said := map[string]bool{} // by an import that knows the same packages
		all := map[typeOf]bool{}
		for _, imported := range p.Pkg.Imports() {
			var theirs typesOf
			if p.ImportPackageFact(imported, &theirs) {
				for name, packages := range theirs.byName() {
					said[name+" "+packages] = true
				}
				for _, t := range theirs.All {
					all[t] = true
				}
			}
		}
		own := p.exportedTypes(files)
		for _, name := range own {
			all[typeOf{name.Name(), at}] = true
		}
		known := typesOf{slices.SortedFunc(maps.Keys(all), func(a, b typeOf) int {
			return strings.Compare(a.Name+" "+a.Package, b.Name+" "+b.Package)
		})}
		p.ExportPackageFact(&known)
		names := known.byName()
		for _, name := range slices.Sorted(maps.Keys(names)) {
			packages := names[name]
			if !strings.Contains(packages, ",") || sharedNames[name] != "" || said[name+" "+packages] {
				continue
			}
			pos := files[0].Package
			if i := slices.IndexFunc(own, func(o *types.TypeName) bool { return o.Name() == name }); i >= 0 {
				pos = own[i].Pos()
			}
			p.say(pos, "several packages have an exported type %s (%s): give each the name of what it is, or add a "+
				"line with the reason to sharedNames in "+
				"tools/house/typenames.go; a reader who searches for one finds the other", name, packages)
		}
		for _, name := range slices.Sorted(maps.Keys(sharedNames)) {
			if at == top && !strings.Contains(names[name], ",") {
				p.say(files[0].Package, "no two packages have an exported type %s any more: remove its line from "+
					"sharedNames in tools/house/typenames.go (%s)",
					name, sharedNames[name])
			}
		}
	})
	a.FactTypes = []analysis.Fact{(*typesOf)(nil)}
	return a
}

// byName returns the packages that have a type of each name, as a list with commas.
func (f *typesOf) byName() map[string]string {
	names := map[string]string{}
	for _, t := range f.All {
		if names[t.Name] != "" {
			names[t.Name] += ", "
		}
		names[t.Name] += t.Package
	}
	return names
}

// exportedTypes are those that the package declares; another name of a type is none.
func (p *pass) exportedTypes(files []*ast.File) (out []*types.TypeName) {
	within := map[string]bool{}
	for _, f := range files {
		within[p.fileName(f)] = true
	}
	for _, name := range p.Pkg.Scope().Names() {
		t, ok := p.Pkg.Scope().Lookup(name).(*types.TypeName)
		if ok && t.Exported() && !t.IsAlias() && within[p.file(t.Pos())] {
			out = append(out, t)
		}
	}
	return out
}
