package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// The attempts and pauses of [Retrying].
const (
	attempts = 3 // of one call, unless the last call failed
	// the longest pause before the second attempt, which is random; doubled before each further one
	firstPause    = 400 * time.Millisecond
	longWait      = 10 * time.Second // a call does not retry if the server asks for a longer pause
	maxRetryAfter = 15 * time.Minute // a longer Retry-After is cut to this
)

// Busy is the error of a server that says with Retry-After how long clients should not ask it.
type Busy struct {
	RetryAfter time.Duration
	Err        error
}

func (b *Busy) Error() string { return b.Err.Error() }

// Unwrap returns Err.
func (b *Busy) Unwrap() error { return b.Err }

// Later marks the error of a server as transient. after is the pause that the server requests; 0 if
// it requests none.
func Later(err error, after time.Duration) error {
	if after > 0 {
		err = &Busy{RetryAfter: after, Err: err}
	}
	return graph.Transient(err)
}

// Retrying is a Source that repeats a request after a transient error. A call makes up to three
// attempts with pauses of random length, so that the nodes of a fleet do not ask at the same
// moments. While the source keeps failing, each call makes only one attempt. No request is sent
// before the time for which the server asked.
type Retrying struct {
	Source

	mu        sync.Mutex
	failing   bool
	notBefore time.Time // no request is sent before it
	why       error
}

// NewRetrying returns a Retrying that reads from s.
func NewRetrying(s Source) *Retrying { return &Retrying{Source: s} }

// Get implements [Source].
func (p *Retrying) Get(ctx context.Context, name, known string, limit int64) (object Object, err error) {
	err = p.try(ctx, func() (err error) {
		object, err = p.Source.Get(ctx, name, known, limit)
		return err
	})
	return object, err
}

// Open implements [Source].
func (p *Retrying) Open(ctx context.Context, name string) (body io.ReadCloser, size int64, err error) {
	err = p.try(ctx, func() (err error) {
		body, size, err = p.Source.Open(ctx, name)
		return err
	})
	return body, size, err
}

func (p *Retrying) try(ctx context.Context, once func() error) error {
	left, err := p.begin()
	for pause := firstPause; err == nil; pause *= 2 {
		var wait time.Duration
		var again bool
		wait, again, err = p.judge(once(), pause)
		if left--; !again || left <= 0 {
			return err
		}
		if !host.Sleep(ctx, wait) {
			return context.Cause(ctx)
		}
		err = nil
	}
	return err
}

// begin returns how many attempts a call has, or the error if the server asked for a pause.
func (p *Retrying) begin() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notBefore.After(time.Now()) {
		return 0, p.asked()
	}
	if p.failing {
		return 1, nil
	}
	return attempts, nil
}

// asked returns the error of a server that asked for a pause. A call that received this answer and
// a call that sends no request because of it return the same error.
func (p *Retrying) asked() error {
	return graph.Transient(fmt.Errorf("the server asked the agent to wait until %s: %w", p.notBefore.UTC().Format(time.RFC3339),
		p.why))
}

// judge records the result of an attempt, and says whether to repeat it and after which pause. said
// is err, with the time for which the server asked, if it did.
func (p *Retrying) judge(err error, pause time.Duration) (wait time.Duration, again bool, said error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = graph.IsTransient(err)
	if !p.failing {
		return 0, false, err
	}
	wait = time.Duration(rand.Int64N(int64(pause)))
	if busy, ok := errors.AsType[*Busy](err); ok {
		after := min(busy.RetryAfter, maxRetryAfter)
		wait += after + time.Duration(rand.Int64N(int64(after/4)+1)) // many nodes got the same Retry-After
		p.notBefore, p.why = time.Now().Add(after), err
		err = p.asked()
	}
	return wait, wait <= longWait, err
}
