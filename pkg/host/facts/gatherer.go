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

	without string // a file of the runtime's that is passed over
}

// problem notes what is there and cannot be read, once.
func (g gatherer) problem(what string, err error) {
	if g.without != "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.facts.Problems = append(g.facts.Problems, fmt.Sprintf("%s: %v", what, err))
}
