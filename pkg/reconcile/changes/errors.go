package changes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// RefusedError says that a document wants what no document may want. Nothing is changed for it. An
// earlier release may have allowed it; when a user publishes with this release, it says so.
type RefusedError struct{ why, origin string }

// RefusedBy tells reports that a rule refuses the change.
func (e *RefusedError) RefusedBy() report.Refusal { return report.RefusedByRule }

func (e *RefusedError) Error() string { return fmt.Sprintf("refused: %s (%s)", e.why, e.origin) }

// HostError says that the host does not allow what a document asks for. No pass can change that,
// and no pod depends on it, so only this task and those that need it fail.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }

// Unwrap returns the host's error.
func (e *HostError) Unwrap() error { return e.Err }

// Allowed returns a run without the results of isolated tasks.
func Allowed(rep tasks.Report) tasks.Report {
	alone := func(res tasks.Result) bool { return isolated(res.Err) }
	if slices.ContainsFunc(rep.Results, alone) {
		rep.Results = slices.DeleteFunc(slices.Clone(rep.Results), alone)
	}
	return rep
}

// isolated reports whether a failed task stops only the tasks that need it: no document may ask for
// it, or the host does not allow it and the network does without it. Another pass would not make it
// either.
func isolated(err error) bool {
	var held *HostError
	return err != nil && (refusal(err) == report.RefusedByRule || errors.As(err, &held))
}

// refusal returns what refuses a failed change, or "" if nothing does.
func refusal(err error) report.Refusal {
	var refused interface{ RefusedBy() report.Refusal }
	if errors.As(err, &refused) {
		return refused.RefusedBy()
	}
	return ""
}

// Failure returns the error of a run, without the tasks that it skipped.
func Failure(rep tasks.Report) error {
	if err := rep.Err(); err != nil {
		return &RunError{err}
	}
	return nil
}

// RunError is the error of a run in which tasks failed. Err has all their errors.
type RunError struct{ Err error }

func (e *RunError) Error() string { return e.Err.Error() }

// Unwrap returns the joined errors of the tasks.
func (e *RunError) Unwrap() error { return e.Err }

// IsRunError reports whether tasks failed, and not a step before them.
func IsRunError(err error) bool {
	var run *RunError
	return errors.As(err, &run)
}

// BesidesTasks returns the part of a pass's error that is not in its plan: what failed around the
// tasks, such as a write of the ledger. It returns nil if there is none. A caller that prints the
// plan prints this too.
func BesidesTasks(err error) error {
	switch e := err.(type) { // the function itself unwraps
	case *RunError:
		return nil
	case interface{ Unwrap() []error }:
		var rest []error
		for _, sub := range e.Unwrap() {
			rest = append(rest, BesidesTasks(sub))
		}
		return errors.Join(rest...)
	}
	return err
}

// FetchingError says that the agent is still fetching an asset.
type FetchingError struct{ graph.WaitError }

// Fetching returns a wait for something that is being fetched.
func Fetching(reason string) error {
	return &FetchingError{WaitError: graph.WaitError{Reason: reason}}
}

func (e *FetchingError) Unwrap() error { return &e.WaitError }

// NotConvergedError says that a task was applied without an error and still differs.
type NotConvergedError struct {
	Key    graph.Key
	Reason string
}

func (e *NotConvergedError) Error() string {
	return fmt.Sprintf("applied, but still not as wanted: %s; another program may set it back: find the "+
		"program that writes %s", e.Reason, e.Key)
}
