package graph

import (
	"fmt"
	"strings"
)

// CycleError is nodes of which none can go first. Each step comes after the next one, and the last
// after the first.
type CycleError struct{ Steps []Step }

// Step is one node of a cycle and why it comes after the next.
type Step struct {
	Key    Key
	Origin string
	Why    Reason
	Via    Key // the key that makes the edge: the one needed, lain under, or asked for
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
