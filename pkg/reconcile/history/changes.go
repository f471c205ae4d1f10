package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
)

// maxChanges is the number of changed keys that are named for a revision.
const maxChanges = 5

// Changes lists what a revision wants differently from the revision that is kept before it, by the
// first key of each task. It compares what was wanted, not what the host was like: a change by
// another program between the two revisions is a repair.
type Changes struct {
	Since   int      `json:"since"` // the revision before this one
	Added   int      `json:"added"`
	Changed int      `json:"changed"`
	Removed int      `json:"removed"`
	Keys    []string `json:"keys"` // the first maxChanges keys, each with the prefix +, ~ or -
}

// String returns the changes in one line.
func (c Changes) String() string {
	var counts []string
	for _, n := range []struct {
		n    int
		word string
	}{{c.Added, "new"}, {c.Changed, "changed"}, {c.Removed, "removed"}} {
		if n.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	if len(counts) == 0 {
		return fmt.Sprintf("nothing since %d", c.Since)
	}
	text := fmt.Sprintf("%s since %d: %s", strings.Join(counts, ", "), c.Since, strings.Join(c.Keys, ", "))
	if more := c.Added + c.Changed + c.Removed - len(c.Keys); more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// revised compares each revision with the one before it. It leaves out the oldest revision, and
// each revision whose tasks this release of the agent cannot build any more.
func revised(r ledger.Reader, list []ledger.Revision) map[int]Changes {
	out := map[int]Changes{}
	var before map[graph.Key]string
	for i, rev := range list {
		now := wanted(r, rev)
		if before != nil && now != nil {
			out[rev.Number] = compared(list[i-1].Number, before, now)
		}
		before = now
	}
	return out
}

// wanted returns what a revision wants, by the first key of each task. It returns nil if the tasks
// cannot be built.
func wanted(r ledger.Reader, rev ledger.Revision) map[graph.Key]string {
	out := map[graph.Key]string{}
	for _, rec := range rev.Tasks {
		t, err := ledger.Rebuild(r, rec)
		if err != nil {
			return nil
		}
		out[t.Owns()[0]] = rec.State()
	}
	return out
}

func compared(since int, before, now map[graph.Key]string) Changes {
	c := Changes{Since: since, Keys: []string{}}
	var keys []graph.Key
	mark := map[graph.Key]string{}
	note := func(n *int, key graph.Key, op string) {
		*n++
		mark[key], keys = op, append(keys, key)
	}
	for key, state := range now {
		switch was, had := before[key]; {
		case !had:
			note(&c.Added, key, "+ ")
		case was != state:
			note(&c.Changed, key, "~ ")
		}
	}
	for key := range before {
		if _, has := now[key]; !has {
			note(&c.Removed, key, "- ")
		}
	}
	slices.SortFunc(keys, func(a, b graph.Key) int { return cmp.Compare(a, b) })
	for _, key := range keys[:min(len(keys), maxChanges)] {
		c.Keys = append(c.Keys, mark[key]+string(key))
	}
	return c
}
