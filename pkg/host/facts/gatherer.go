package facts

import (
	"fmt"
	"sync"
)

// gatherer fills facts from a host.
type gatherer struct {
	*Sources
	facts *Facts
	mu    *sync.Mutex // for Problems
	dirs  []string    // the directories of [systemd.UnitDirs] that exist

	without string // file of the runtime to be ignored
}

func newGatherer(l *Sources, facts *Facts) gatherer {
	return gatherer{Sources: l, facts: facts, mu: &sync.Mutex{}, dirs: existingUnitDirs(l.files)}
}

// problem records something that exists and cannot be read. In the second read without the agent's
// drop-in it records nothing.
func (g gatherer) problem(what string, err error) {
	if g.without != "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.facts.Problems = append(g.facts.Problems, fmt.Sprintf("%s: %v", what, err))
}
