package changes

import (
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// RefusedError is what a document wants and no document may. Nothing is changed for it: an earlier
// release may have made it, and who publishes with this one is told.
type RefusedError struct{ why, origin string }

// RefusedBy tells reports what refuses it.
func (e *RefusedError) RefusedBy() report.Refusal { return report.RefusedByRule }

func (e *RefusedError) Error() string { return fmt.Sprintf("refused: %s (%s)", e.why, e.origin) }

// HostError is what documents ask for by themselves, and the host keeps from being made. No pass
// changes that, and no pod stands on it: it fails alone.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }

// Unwrap is what the host said.
func (e *HostError) Unwrap() error { return e.Err }

// Allowed is a run without what fails alone.
func Allowed(rep tasks.Report) tasks.Report {
	alone := func(res tasks.Result) bool { return isolated(res.Err) }
	if slices.ContainsFunc(rep.Results, alone) {
		rep.Results = slices.DeleteFunc(slices.Clone(rep.Results), alone)
	}
	return rep
}

// isolated says of a task that nothing but what needs it is held up for it: no document may ask
// for it, or the host keeps it from being made and the network does without it. A further pass
// would not make it either.
func isolated(err error) bool {
	var held *HostError
	return err != nil && (refusal(err) == report.RefusedByRule || errors.As(err, &held))
}

// refusal says by what a change is refused that failed; "": by nothing.
func refusal(err error) report.Refusal {
	var refused interface{ RefusedBy() report.Refusal }
	if errors.As(err, &refused) {
		return refused.RefusedBy()
	}
	return ""
}

// Failure is the error of a run without the noise of what it skipped.
func Failure(rep tasks.Report) error {
	if err := rep.Err(); err != nil {
		return &RunError{err}
	}
	return nil
}

// RunError is a run in which tasks failed; every one of them is in Err.
type RunError struct{ Err error }

func (e *RunError) Error() string { return e.Err.Error() }

// Unwrap is the joined errors of the tasks.
func (e *RunError) Unwrap() error { return e.Err }

// IsRunError says whether the tasks failed, as opposed to what came before them.
func IsRunError(err error) bool {
	var run *RunError
	return errors.As(err, &run)
}

// BesidesTasks is what of a pass's error its plan does not tell: what failed around the tasks, as a
// ledger that cannot be written. Nil if there is no such thing. Whoever prints the plan prints it
// too.
func BesidesTasks(err error) error {
	switch e := err.(type) { // this is the walk itself
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

// FetchingError says that an asset is being fetched.
type FetchingError struct{ graph.WaitError }

// Fetching is a wait for something that is.
func Fetching(reason string) error {
	return &FetchingError{WaitError: graph.WaitError{Reason: reason}}
}

func (e *FetchingError) Unwrap() error { return &e.WaitError }

// NotConvergedError is a task that was applied without error and still differs.
type NotConvergedError struct {
	Key    graph.Key
	Reason string
}

func (e *NotConvergedError) Error() string {
	return fmt.Sprintf("applied, but still not as wanted: %s; another program may set it back: look for who else "+
		"writes %s", e.Reason, e.Key)
}
