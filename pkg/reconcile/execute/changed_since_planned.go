package execute

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// within says whether now is what was planned, or less. What differs stops its
// branch until the next pass has planned it, and a person could have seen it. What is the same is
// in memory once.
func within(key graph.Key, now, planned *tasks.Change) error {
	if planned == nil {
		return graph.Permanent(&changedError{Key: key, Reason: now.Reason})
	}
	if planned.Unknown != "" {
		return nil
	}
	for n := range now.Items {
		it := &now.Items[n]
		i := slices.IndexFunc(planned.Items, func(p tasks.Item) bool { return sameOutcome(*it, p) })
		if i < 0 {
			return graph.Permanent(&changedError{Key: it.Key, Reason: now.Reason})
		}
		it.After = planned.Items[i].After
	}
	return nil
}

// sameOutcome compares what a key becomes. It ignores what the key was, because an upstream task
// may have changed that.
func sameOutcome(a, b tasks.Item) bool {
	if a.Key != b.Key || !bytes.Equal(a.After, b.After) {
		return false
	}
	for _, f := range a.Fields {
		i := slices.IndexFunc(b.Fields, func(g tasks.Field) bool { return g.Name == f.Name })
		if i >= 0 && b.Fields[i].After != f.After {
			return false
		}
	}
	return true
}

// changedError says that a task would now change something else than was planned.
type changedError struct {
	Key    graph.Key
	Reason string
}

func (e *changedError) Error() string {
	return fmt.Sprintf("changed since planned (%s): another program changes %s; the next pass plans it again",
		e.Reason, e.Key)
}

// OnlyChangedSincePlanned reports whether each error is that a task changed after it was planned.
// Another pass may then help at once.
func OnlyChangedSincePlanned(err error) bool {
	switch e := err.(type) { // the function itself unwraps
	case nil:
		return false
	case *changedError:
		return true
	case interface{ Unwrap() []error }:
		for _, sub := range e.Unwrap() {
			if !OnlyChangedSincePlanned(sub) {
				return false
			}
		}
		return true
	case interface{ Unwrap() error }:
		return OnlyChangedSincePlanned(e.Unwrap())
	}
	return false
}
