package graph

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of a visit. It creates its timer only when the visit waits for the
// context, or asks it after the visit's end or deadline: most visits only look at a file and end
// before.
type deadline struct {
	context.Context //nolint:house ctxfield this is a context itself, and that is the run's
	at              time.Time
	late            DeadlineError // the cause after the deadline

	mu    sync.Mutex
	over  bool            // the visit has ended
	begun context.Context //nolint:house ctxfield this is a context itself, and that has its timer
	end   func()
}

// begin returns the context that has the timer, and creates it if needed.
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

// now returns the context that knows whether the visit's context has ended.
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

// stop ends the context when the visit ends.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.end != nil {
		d.end()
	}
}
