package graph

import (
	"fmt"
	"strings"
)

// InvalidError is a node that cannot stand in any graph: it owns nothing, a key has no kind, or its
// gate does not exist.
type InvalidError struct {
	Key     Key    // empty when the node owns none
	Origin  string // where it was asked for
	Problem string // what is wrong and what to do
}

func (e *InvalidError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("a node (%s) %s", e.Origin, e.Problem)
	}
	return fmt.Sprintf("%s (%s) %s", e.Key, e.Origin, e.Problem)
}

// DuplicateError is a key with two owners. First and Second are their origins, in an order that
// does not depend on the input's.
type DuplicateError struct {
	Key           Key
	First, Second string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%s is wanted twice, by %s and by %s: remove one of them", e.Key, e.First, e.Second)
}

// UnknownEffectError is a node that asks for an effect which nobody owns.
type UnknownEffectError struct {
	Effect Key
	Key    Key    // who asks
	Origin string // of who asks
}

func (e *UnknownEffectError) Error() string {
	return fmt.Sprintf("%s (%s) asks for %s, which no node brings about: add that effect or correct its name", e.Key,
		e.Origin, e.Effect)
}

// GateError is an edge from a later gate to an earlier one.
type GateError struct {
	Key           Key // the node of the earlier gate, that would have to come last
	Origin        string
	Gate          Gate
	Blocker       Key // the node of the later gate, that would have to come first
	BlockerOrigin string
	BlockerGate   Gate
	Why           Reason
	Via           Key // the key that makes the edge
}

func (e *GateError) Error() string {
	if e.Why == Ask {
		return fmt.Sprintf("%s (%s, %s) asks for %s (%s, %s), which would have to wait for it: let it ask for an "+
			"effect of its own gate",
			e.Blocker, e.BlockerOrigin, e.BlockerGate, e.Key, e.Origin, e.Gate)
	}
	return fmt.Sprintf("%s (%s, %s) %s %s (%s, %s): a later gate cannot come first; move one of the two to the gate "+
		"of the other",
		e.Key, e.Origin, e.Gate, e.Why, e.Via, e.BlockerOrigin, e.BlockerGate)
}

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
