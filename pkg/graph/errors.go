package graph

import (
	"fmt"
	"strings"
)

// CycleError is a cycle of nodes. Each step comes after the next one, and the last step comes after
// the first.
type CycleError struct{ Steps []Step }

// Step is one node of a cycle, and the reason why it comes after the next one.
type Step struct {
	Key    Key
	Origin string
	Why    Reason
	Via    Key // the key of the edge: the needed key, the parent, or the effect
}

func (e *CycleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "none of these %d can go first; take one of the lines away:", len(e.Steps))
	for i, s := range e.Steps {
		next := e.Steps[(i+1)%len(e.Steps)]
		fmt.Fprintf(&b, "\n  %s (%s) ", s.Key, s.Origin)
		switch {
		case s.Why == Ask:
			fmt.Fprintf(&b, "waits for %s, which asks for it", next.Key)
		case s.Via != next.Key:
			fmt.Fprintf(&b, "%s %s of %s", s.Why, s.Via, next.Key)
		default:
			fmt.Fprintf(&b, "%s %s", s.Why, s.Via)
		}
	}
	return b.String()
}
