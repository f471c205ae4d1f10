package graph

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"
)

// State is the result of a node in a run.
type State int

const (
	// Done: the visit returned nil.
	Done State = iota + 1
	// Failed: the visit returned an error, panicked, or met transient errors in all its attempts.
	Failed
	// Skipped: not visited, because a node that it needs failed.
	Skipped
	// Waiting: the visit returned a WaitError, or was not made because a node that it needs waits.
	// This is no error.
	Waiting
	// Cancelled: the run was cancelled before the node was visited, or before its visit ended.
	Cancelled
)

// String returns the state in one word.
func (s State) String() string {
	if s < Done || s > Cancelled {
		return "not settled"
	}
	return [...]string{"done", "failed", "skipped", "waiting", "cancelled"}[s-Done]
}

// Result is the result of one node.
type Result[N Node] struct {
	Node  N
	Key   Key // the node's first key
	State State
	// Err is nil for Done. Failed: the last error of the visit. Skipped: a *BlockedError. Waiting:
	// the *WaitError of the visit, or a *BlockedError; it is the reason, and no failure. Cancelled:
	// an error that wraps the cause of the cancellation.
	Err error
	// Because is the first key of the node that failed, for Skipped, or that waits, for Waiting. It
	// is empty for that node itself.
	Because  Key
	Attempts int           // number of visits
	Took     time.Duration // time in visits, without the pauses between them
}

// Report has the results of all nodes.
type Report[N Node] struct {
	Results []Result[N] // in plan order
}

// Err joins the errors of the failed nodes, each with its key, in plan order, and then once the
// cause where nodes were cancelled. It leaves out skipped and waiting nodes. It is nil where no
// node failed or was cancelled.
func (r Report[N]) Err() error {
	var errs []error
	var cancelled error
	for i := range r.Results {
		switch res := &r.Results[i]; res.State {
		case Failed:
			errs = append(errs, fmt.Errorf("%s: %w", res.Key, res.Err))
		case Cancelled:
			if cancelled == nil || res.Attempts == 0 { // a node that never ran has only the cause
				cancelled = res.Err
			}
		}
	}
	if cancelled != nil {
		errs = append(errs, cancelled)
	}
	return errors.Join(errs...)
}

// BlockedError is why a node was not visited: a node that it needs, directly or not, failed or
// waits.
type BlockedError struct {
	Because Key   // first key of the node that failed or waits
	State   State // Failed or Waiting: how that node ended
	Err     error // the error of that node
}

func (e *BlockedError) Error() string {
	if e.State == Waiting {
		return fmt.Sprintf("waiting for %s: %v", e.Because, e.Err)
	}
	return fmt.Sprintf("skipped: needs %s, which failed", e.Because)
}

// Unwrap returns the error of the node that failed or waits.
func (e *BlockedError) Unwrap() error { return e.Err }

// DeadlineError is a visit that had not ended at its deadline. It is transient.
type DeadlineError struct {
	Key      Key // first key of the node
	Deadline time.Duration
	Err      error // what the visit returned; nil where this is the cause of its context
}

func (e *DeadlineError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s was not through within its deadline of %s", e.Key, e.Deadline)
	}
	return fmt.Sprintf("%s was not through within its deadline of %s: %v", e.Key, e.Deadline, e.Err)
}

// Unwrap returns the error of the visit.
func (e *DeadlineError) Unwrap() error { return e.Err }

// PanicError is a visit that panicked. This is a bug of the agent, and never the host's fault.
type PanicError struct {
	Key   Key    // first key of the node
	Value any    // the value of the panic
	Stack string // the innermost calls; the one that panicked is first
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s panicked: %v (this is a bug: report it with this: %s)", e.Key, e.Value, e.Stack)
}

// shownCalls is how many calls of a stack an error shows.
const shownCalls = 5

// callers returns the calls that led to a panic, without those of the Go runtime. The caller is a
// deferred function that has recovered.
func callers() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var calls []string
	for more := true; more && len(calls) < shownCalls; {
		var f runtime.Frame
		if f, more = frames.Next(); !strings.HasPrefix(f.Function, "runtime.") {
			calls = append(calls, fmt.Sprintf("%s %s:%d", path.Base(f.Function), path.Base(f.File), f.Line))
		}
	}
	return strings.Join(calls, ", ")
}

// Unwrap returns the value of the panic where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
