package objectstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/netwright/netwright/pkg/graph"
)

// The results of a request, and their names in the metrics.
const (
	read = iota
	notModified
	missing
	failed  // a later request may succeed
	refused // no later request will succeed
)

var outcomes = [...]string{read: "read", notModified: "not_modified", missing: "absent", failed: "failed",
	refused: "refused"}

// Meter counts the requests to the sources that [Meter.Of] returns, and the bytes of the objects
// that it received. Each attempt counts as one request. Watches do not count. The zero value is
// ready for use; a nil Meter counts nothing. A Meter is safe for concurrent use.
type Meter struct {
	requests [len(outcomes)]atomic.Int64
	received atomic.Int64
}

// Counts returns the requests so far by result, and the bytes received so far.
func (m *Meter) Counts() (byOutcome map[string]int64, received int64) {
	byOutcome = make(map[string]int64, len(outcomes))
	for i, outcome := range outcomes {
		byOutcome[outcome] = m.requests[i].Load()
	}
	return byOutcome, m.received.Load()
}

// Of returns a source that counts the requests to s.
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

// count records the result of a request. It leaves out a request that the caller cancelled, because
// its error says nothing about the store.
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

// counting counts the bytes that are read from a body.
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
