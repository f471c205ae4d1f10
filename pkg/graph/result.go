package graph

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"time"
)

// State is how a node ended in a run.
type State int

const (
	// Done: the visit returned nil.
	Done State = iota + 1
	// Failed: the visit returned an error, panicked, or met transient errors as often as was
	// allowed.
	Failed
	// Skipped: not visited, because something that it needs failed.
	Skipped
	// Waiting: the visit returned a WaitError, or was not made because something that it needs
	// waits. No error.
	Waiting
	// Cancelled: the run was cancelled before the node was visited, or before it was through.
	Cancelled
)

// String is the state in a word.
func (s State) String() string {
	if s < Done || s > Cancelled {
		return "not settled"
	}
	return [...]string{"done", "failed", "skipped", "waiting", "cancelled"}[s-Done]
}

// Result is what became of one node.
type Result[N Node] struct {
	Node  N
	Key   Key // the node's first
	State State
	// Err is nil for Done. Failed: what the visit met last. Skipped: a *BlockedError. Waiting: the
	// *WaitError of the visit, or a *BlockedError; it is the reason, no failure. Cancelled: wraps
	// the cause of the cancellation.
	Err error
	// Because is the first key of the node at the root, when Skipped that failed, or Waiting that
	// waits. Empty when this is the root.
	Because  Key
	Attempts int           // visits made
	Took     time.Duration // time in visits, without the pauses between
}

// Report is what became of all nodes.
type Report[N Node] struct {
	Results []Result[N] // in plan order
}

// Err joins the errors of the nodes that failed, each with its key, in plan order; then, once, the
// cause where nodes were cancelled. What is skipped or waits is not in it. Nil when nothing failed
// and nothing was cancelled.
func (r Report[N]) Err() error {
	var errs []error
	var cancelled error
	for i := range r.Results {
		switch res := &r.Results[i]; res.State {
		case Failed:
			errs = append(errs, fmt.Errorf("%s: %w", res.Key, res.Err))
		case Cancelled:
			if cancelled == nil || res.Attempts == 0 { // one that never ran carries the cause and nothing else
				cancelled = res.Err
			}
		}
	}
	if cancelled != nil {
		errs = append(errs, cancelled)
	}
	return errors.Join(errs...)
}

// BlockedError is why a node was not visited: what it needs, directly or not, failed or waits.
type BlockedError struct {
	Because Key   // first key of the node at the root
	State   State // Failed or Waiting: how that node ended
	Err     error // what that node met
}

func (e *BlockedError) Error() string {
	if e.State == Waiting {
		return fmt.Sprintf("waiting for %s: %v", e.Because, e.Err)
	}
	return fmt.Sprintf("skipped: needs %s, which failed", e.Because)
}

// Unwrap is what the node at the root met.
func (e *BlockedError) Unwrap() error { return e.Err }

// DeadlineError is a visit that was not through when its deadline came. It is transient.
type DeadlineError struct {
	Key      Key // first key of the node
	Deadline time.Duration
	Err      error // what the visit returned then; nil as the cause of its context
}

func (e *DeadlineError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("%s was not through within its deadline of %s", e.Key, e.Deadline)
	}
	return fmt.Sprintf("%s was not through within its deadline of %s: %v", e.Key, e.Deadline, e.Err)
}

// Unwrap is what the visit returned.
func (e *DeadlineError) Unwrap() error { return e.Err }

// PanicError is a visit that panicked: a bug of ours, never the host's fault.
type PanicError struct {
	Key   Key    // first key of the node
	Value any    // what it panicked with
	Stack string // the innermost calls, the one that panicked first
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("%s panicked: %v (this is a bug: report it with this: %s)", e.Key, e.Value, e.Stack)
}

// shownCalls is how many calls of a stack an error says.
const shownCalls = 5

// callers are the calls that the caller, which is deferred and has recovered, was in: without those
// of the runtime, that made the panic.
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

// Unwrap is the value, where it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
