package house

import "strings"

// The bounds on a package, tests not counted.
var mostFiles, mostLines = 25, 3500

// flatCircle is the largest circle of files of a flat list, which may have any length: whoever
// reads one of its files need not know the others.
const flatCircle = 4

// largeStill lists the packages that are too large still, with the reason. A line goes when its
// package is cut.
var largeStill = map[string]string{
	"pkg/tasks": "not yet cut: a kind a file, and what the table of kinds says of each",
}

// Packages bounds how much a package is, unless it is a flat list.
var Packages = rule("packages", "a package has at most 25 files and 3,500 lines, or its files know little of each other",
	func(p *pass) {
		at, ours := p.within()
		files := p.sources()
		if !ours || !below(at, "pkg") && !below(at, "cmd") || len(files) == 0 {
			return
		}
		lines := 0
		for _, f := range files {
			lines += p.Fset.File(f.Package).LineCount()
		}
		circle := largestCircle(p, files)
		large := (len(files) > mostFiles || lines > mostLines) && len(circle) > flatCircle
		switch reason, exempt := largeStill[at]; {
		case exempt && !large:
			p.say(files[0].Package, "package %s is cut now: remove its line from largeStill in "+
				"tools/house/packages.go (%s)", at, reason)
		case !exempt && large:
			p.say(files[0].Package, "package %s has %d files and %d lines, at most %d and %d: give what its files share "+
				"a package below, or break the circle of %s; a newcomer reads a package as a whole", at, len(files), lines,
				mostFiles, mostLines, strings.Join(circle, ", "))
		}
	})
