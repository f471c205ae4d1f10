package house

import (
	"go/token"
	"strings"
	"unicode/utf8"
)

// The bounds on the width of lines, a tab being four columns.
const (
	wide     = 120
	tooWide  = 200
	tabWidth = 4
	fewLines = 3 // of a package may be wide, however small it is
)

// wideStill lists the packages in which too many lines are wide still, with the reason.
var wideStill = map[string]string{}

// Columns bounds the width of lines.
var Columns = rule("columns", "at most 1 % of a package's lines are wider than 120 columns, none wider than 200",
	func(p *pass) {
		at, ours := p.within()
		if !ours || !bounded(at) {
			return
		}
		var lines int
		var over []token.Pos
		for _, f := range p.sources() {
			file := p.Fset.File(f.Package)
			text, err := p.ReadFile(file.Name())
			if err != nil {
				continue // the compiler has said it
			}
			n := 0
			for line := range strings.Lines(string(text)) {
				n++
				line = strings.TrimRight(line, "\r\n")
				if line == "" {
					continue
				}
				lines++
				width := utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t")
				if width > tooWide {
					p.say(file.LineStart(n), "line of %d columns, at most %d: break it; its end is read by nobody",
						width, tooWide)
				}
				if width > wide {
					over = append(over, file.LineStart(n))
				}
			}
		}
		most := max(lines/100, fewLines)
		reason, exempt := wideStill[at]
		switch {
		case exempt && len(over) <= most && lines > 0:
			p.say(p.sources()[0].Package, "package %s has few wide lines now: remove its line from wideStill in "+
				"tools/house/columns.go (%s)", at, reason)
		case !exempt && len(over) > most:
			p.say(over[0],
				"%d of %d lines of package %s are wider than %d columns, at most %d: break them; two files do "+
					"not stand beside each other on a screen, "+
					"and a wide line is a sentence with too many clauses", len(over), lines, at, wide, most)
		}
	})
