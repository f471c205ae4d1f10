package toxic

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Table lists for people what was tried and how it ended. Its zero value is empty.
type Table struct {
	mu   sync.Mutex
	rows []string
}

// Add adds a fault, the situation in which it occurred, the number of requests that it cost, and
// the error.
func (t *Table) Add(fault, when string, requests int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := "the new generation"
	if err != nil {
		_, said, _ = strings.Cut(err.Error(), ".com: ") // what stands before it is the store
		if said == "" {
			said = err.Error()
		}
		if r := []rune(said); len(r) > longest {
			said = string(r[:longest]) + "…"
		}
	}
	t.rows = append(t.rows, fmt.Sprintf("%-40s %-5s %d  %s", fault, when, requests, said))
}

const longest = 120

// String is the table, sorted by fault.
func (t *Table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.Sort(t.rows)
	return "fault                                    at    requests, and what was said\n" + strings.Join(t.rows, "\n")
}
