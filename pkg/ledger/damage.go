package ledger

import "github.com/netwright/netwright/pkg/graph"

// What becomes of a journal that cannot be read: one that may be whole is not written over, and one
// that is damaged is forgotten. journal_lines.go tells the two apart, and both from a line that was
// never committed.

// withhold has nothing written for as long as what is on the disk is not known.
func withhold(l *Ledger, why error) {
	l.Newer, l.damage = why, append(l.damage, why.Error())
	l.entries, l.dirs = map[graph.Key]Entry{}, map[string]int64{}
}

// lose forgets all that was known: what is desired comes in again as found, so that nothing is
// removed for want of a memory.
func (l *Ledger) lose(why string) {
	l.damage = append(l.damage,
		why+"; what is on the node counts as found: it is kept right, and never removed by prune or reset")
	l.lines, l.head, l.rewrite, l.Lost = nil, Head{Lost: true}, true, true
	l.entries, l.dirs = map[graph.Key]Entry{}, map[string]int64{}
}
