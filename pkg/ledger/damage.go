package ledger

import "github.com/netwright/netwright/pkg/graph"

// A journal that cannot be read is not overwritten if it may be intact, and is discarded if it is
// damaged. journal_lines.go distinguishes both from a line that was never committed.

// withhold prevents every write while the content on the disk is not known.
func withhold(l *Ledger, why error) {
	l.Newer, l.damage = why, append(l.damage, why.Error())
	l.entries, l.dirs = map[graph.Key]Entry{}, map[string]int64{}
}

// lose discards everything that was known. What is desired is then recorded as found, so that
// nothing is removed because the ledger was lost.
func (l *Ledger) lose(why string) {
	l.damage = append(l.damage,
		why+"; every key on the node counts as found: the agent repairs it, and prune and reset never remove it")
	l.lines, l.head, l.rewrite, l.Lost = nil, Head{Lost: true}, true, true
	l.entries, l.dirs = map[graph.Key]Entry{}, map[string]int64{}
}
