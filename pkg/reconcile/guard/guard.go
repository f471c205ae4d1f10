// Package guard keeps a change from cutting the node off: it takes down how everything is that the
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

// Guard keeps a pass from cutting the node off. A nil guard is that of a pass of which every change
// is proved: it costs nothing and does nothing.
type Guard struct {
	point *checkpoint.Checkpoint
	all   bool                    // also of changes that are proved harmless
	end   context.CancelCauseFunc // of the run
	Begun func()                  // hears that it is armed, before the first change; nil: nobody does

	once  sync.Once
	done  atomic.Bool // it was armed, or could not be
	Armed bool
	err   error // why it could not be armed
	limit *time.Timer
}

// errTooLong ends a run that may have cut the node off and does not come to its end.
var errTooLong = errors.New("the change did not come to its end in time")

// NeedsCheckpoint says that a change is made under a checkpoint only.
func NeedsCheckpoint(c *tasks.Change) bool {
	return c.NotApplicable == "" && c.Proof == tasks.ProofNone
}

// Before arms the checkpoint before the first change that needs it: not
// earlier, since a download may take longer than a checkpoint lasts. waited says that it was not
// armed yet: that takes seconds where somebody does not answer.
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

// WaitFor has the change finished only when nothing starts any more, and kept only if all has read
// its files: see [checkpoint.Checkpoint.WaitFor].
func (g *Guard) WaitFor(starting func(context.Context) bool, unread func(context.Context) error) {
	if g != nil {
		g.point.WaitFor(starting, unread)
	}
}

// Await has the change kept only if somebody confirms it: see [checkpoint.Checkpoint.Await].
func (g *Guard) Await(a checkpoint.Awaits) { g.point.Await(a) }

// Finish keeps the change or undoes it. ctx is that of the run; unfinished says that what was begun
// is of no use as it is.
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

// Proof is what a change was proved by that stayed, nil where no checkpoint was armed.
func (g *Guard) Proof() *probe.Proof {
	if g == nil || !g.Armed {
		return nil
	}
	return g.point.Proof()
}

// Warnings are what is amiss with a change that stayed.
func (g *Guard) Warnings() (notes []report.Note) {
	if g == nil {
		return nil
	}
	for _, text := range g.point.Warnings() {
		notes = append(notes, report.Warning(text))
	}
	return notes
}

// Undone says that an undo takes a task's change back.
func Undone(t tasks.Task, c *tasks.Change) bool {
	return c.NotApplicable == "" && !tasks.StaysAfterUndo(t)
}
