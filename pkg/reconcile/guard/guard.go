// Package guard keeps a change from cutting the node off. It captures the state of all that the
// change touches, arms a checkpoint before the first change that needs one, and finishes it.
package guard

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Guard keeps a pass from cutting the node off. A nil guard belongs to a pass whose changes are all
// proved. It does nothing.
type Guard struct {
	point *checkpoint.Checkpoint
	all   bool                    // also for changes that are proved harmless
	end   context.CancelCauseFunc // ends the run
	Begun func()                  // called when the checkpoint is armed, before the first change; nil: not called

	once  sync.Once
	done  atomic.Bool // it was armed, or arming failed
	Armed bool
	err   error // why it could not be armed
	limit *time.Timer
}

// errTooLong ends a run that may have cut the node off and that takes too long.
var errTooLong = errors.New("the change did not end in time")

// NeedsCheckpoint reports whether a change may be made only under a checkpoint.
func NeedsCheckpoint(c *tasks.Change) bool {
	return c.NotApplicable == "" && c.Proof == tasks.ProofNone
}

// Before arms the checkpoint before the first change that needs it, and not earlier, because a
// download may take longer than a checkpoint lasts. waited means that it was not armed before. To
// arm it takes seconds if a probe gets no answer.
func (g *Guard) Before(ctx context.Context, t tasks.Task, c *tasks.Change) (waited bool, err error) {
	if g == nil || !NeedsCheckpoint(c) && !(g.all && Undone(t, c)) {
		return false, nil
	}
	waited = !g.done.Load()
	g.once.Do(func() {
		defer g.done.Store(true)
		if g.err = g.point.Arm(ctx); g.err == nil {
			g.Armed = true
			if g.Begun != nil {
				g.Begun()
			}
			g.limit = time.AfterFunc(g.point.Limit(), func() { g.end(errTooLong) })
		}
	})
	return waited, g.err
}

// WaitFor makes Finish wait until no unit is starting, and keep the change only if each unit has
// read its files: see [checkpoint.Checkpoint.WaitFor].
func (g *Guard) WaitFor(starting func(context.Context) bool, unread func(context.Context) error) {
	if g != nil {
		g.point.WaitFor(starting, unread)
	}
}

// Await makes Finish keep the change only if somebody confirms it: see
// [checkpoint.Checkpoint.Await].
func (g *Guard) Await(a checkpoint.Awaits) { g.point.Await(a) }

// Finish keeps the change or undoes it. ctx is the context of the run. unfinished says why a change
// that was only partly made cannot stay.
func (g *Guard) Finish(ctx context.Context, unfinished error) error {
	if g == nil {
		return nil
	}
	defer g.end(errors.New("the run is over"))
	if !g.Armed {
		return g.point.Drop(context.WithoutCancel(ctx))
	}
	g.limit.Stop()
	late := unfinished
	if cause := context.Cause(ctx); errors.Is(cause, errTooLong) {
		late = cause
	}
	return g.point.Finish(ctx, late)
}

// Proof returns the proof of a change that stayed, or nil if no checkpoint was armed.
func (g *Guard) Proof() *probe.Proof {
	if g == nil || !g.Armed {
		return nil
	}
	return g.point.Proof()
}

// Warnings returns warnings about a change that stayed.
func (g *Guard) Warnings() (notes []report.Note) {
	if g == nil {
		return nil
	}
	for _, text := range g.point.Warnings() {
		notes = append(notes, report.Warning(text))
	}
	return notes
}

// Undone reports whether an undo takes a task's change back.
func Undone(t tasks.Task, c *tasks.Change) bool {
	return c.NotApplicable == "" && !tasks.StaysAfterUndo(t)
}
