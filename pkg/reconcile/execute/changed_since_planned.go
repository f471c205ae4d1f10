package execute

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// within says whether now is what was planned, or less. What differs stops its
// branch until the next pass has planned it, and a person could have seen it.
func within(key graph.Key, now, planned *tasks.Change) error {
	if planned == nil {
		return graph.Permanent(&changedError{Key: key, Reason: now.Reason})
	}
	if planned.Unknown != "" {
		return nil
	}
	for _, it := range now.Items {
		if !slices.ContainsFunc(planned.Items, func(p tasks.Item) bool { return sameOutcome(it, p) }) {
			return graph.Permanent(&changedError{Key: it.Key, Reason: now.Reason})
		}
	}
	return nil
}

// sameOutcome compares what a key becomes, not what it was: an upstream task
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

// changedError is a task that no longer plans what was planned.
type changedError struct {
	Key    graph.Key
	Reason string
}

func (e *changedError) Error() string {
	return fmt.Sprintf("changed since planned (%s): somebody else works on %s; it is planned again in the next pass",
		e.Reason, e.Key)
}

// OnlyChangedSincePlanned says that all that failed was planned otherwise than
// found: another pass may help at once.
func OnlyChangedSincePlanned(err error) bool {
	switch e := err.(type) { // this is the walk itself
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
