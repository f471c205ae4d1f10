package objectstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/netwright/netwright/pkg/graph"
)

// The ways in which a request ends, and their names.
const (
	read = iota
	notModified
	missing
	failed  // a later one may succeed
	refused // none will
)

var outcomes = [...]string{read: "read", notModified: "not_modified", missing: "absent", failed: "failed",
	refused: "refused"}

// Meter counts requests to the sources that [Meter.Of] was given, each attempt as one, and the
// bytes of objects that came. Watches are not requests. The zero value is ready; a nil one counts
// nothing. It is safe for several goroutines.
type Meter struct {
	requests [len(outcomes)]atomic.Int64
	received atomic.Int64
}

// Counts are the numbers so far.
func (m *Meter) Counts() (byOutcome map[string]int64, received int64) {
	byOutcome = make(map[string]int64, len(outcomes))
	for i, outcome := range outcomes {
		byOutcome[outcome] = m.requests[i].Load()
	}
	return byOutcome, m.received.Load()
}

// Of is the source, counted.
func (m *Meter) Of(s Source) Source {
	if m == nil {
		return s
	}
	counted := metered{Source: s, meter: m}
	if w, ok := s.(Watcher); ok {
		return struct {
			metered
			Watcher
		}{counted, w}
	}
	return counted
}

// count takes note of how a request ended. One that was given up says nothing of the store.
func (m *Meter) count(ctx context.Context, err error) {
	outcome := refused
	switch {
	case err == nil:
		outcome = read
	case ctx.Err() != nil:
		return
	case errors.Is(err, ErrNotModified):
		outcome = notModified
	case errors.Is(err, fs.ErrNotExist):
		outcome = missing
	case graph.IsTransient(err):
		outcome = failed
	}
	m.requests[outcome].Add(1)
}

type metered struct {
	Source
	meter *Meter
}

// Get implements [Source].
func (s metered) Get(ctx context.Context, name, known string, limit int64) (Object, error) {
	object, err := s.Source.Get(ctx, name, known, limit)
	s.meter.count(ctx, err)
	s.meter.received.Add(int64(len(object.Body)))
	return object, err
}

// Open implements [Source].
func (s metered) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	body, size, err := s.Source.Open(ctx, name)
	s.meter.count(ctx, err)
	if err != nil {
		return nil, 0, err
	}
	return counting{body, &s.meter.received}, size, nil
}

// counting counts what is read of a body.
type counting struct {
	io.ReadCloser
	to *atomic.Int64
}

// Read implements [io.Reader].
func (c counting) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.to.Add(int64(n))
	return n, err
}
