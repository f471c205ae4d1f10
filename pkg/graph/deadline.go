package graph

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of a visit. Its timer, and all that belongs to one, begins when somebody
// waits for the context, or asks of it when the visit is over or late. Most visits look at a file
// and end before.
type deadline struct {
	context.Context //nolint:house ctxfield this is a context itself, and that is the run's
	at              time.Time
	late            DeadlineError // the cause, when the time is over

	mu    sync.Mutex
	over  bool            // the visit has ended
	begun context.Context //nolint:house ctxfield this is a context itself, and that has its timer
	end   func()
}

// begin is the context with its timer.
func (d *deadline) begin() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.begun != nil:
	case d.over:
		ended, end := context.WithCancelCause(d.Context)
		end(context.Canceled)
		d.begun = ended
	default:
		d.begun, d.end = context.WithDeadlineCause(d.Context, d.at, &d.late)
	}
	return d.begun
}

// now is what knows whether the context has ended.
func (d *deadline) now() context.Context {
	d.mu.Lock()
	begun, over := d.begun, d.over
	d.mu.Unlock()
	if begun == nil && !over && time.Now().Before(d.at) {
		return d.Context
	}
	return d.begin()
}

func (d *deadline) Deadline() (time.Time, bool) { return d.begin().Deadline() }
func (d *deadline) Done() <-chan struct{}       { return d.begin().Done() }
func (d *deadline) Err() error                  { return d.now().Err() }
func (d *deadline) Value(key any) any           { return d.now().Value(key) }

// stop ends the context with its visit.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.end != nil {
		d.end()
	}
}
