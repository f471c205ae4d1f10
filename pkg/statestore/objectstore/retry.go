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
)

// How a source is tried again that does not answer as it should.
const (
	attempts      = 3                      // of one call, while all is well
	firstPause    = 400 * time.Millisecond // between two, on average half of it, doubled each time
	longWait      = 10 * time.Second       // a server that asks for more is not waited for within a call
	maxRetryAfter = 15 * time.Minute       // and it is not obeyed for longer
)

// Busy is the error of a server that says how long to leave it alone (Retry-After).
type Busy struct {
	RetryAfter time.Duration
	Err        error
}

func (b *Busy) Error() string { return b.Err.Error() }

// Unwrap gives package errors the error.
func (b *Busy) Unwrap() error { return b.Err }

// Retrying tries a source again where a request failed that a later one may not fail: a few times,
// with pauses of random length, so that a fleet does not come back in step. While it goes on
// failing each call is one request, and none before the time that the server asked for.
type Retrying struct {
	Source
	sleep func(context.Context, time.Duration) error
	now   func() time.Time

	mu        sync.Mutex
	failing   bool
	notBefore time.Time // no request before it
	why       error
}

// NewRetrying returns s, tried again.
func NewRetrying(s Source) *Retrying { return &Retrying{Source: s, sleep: sleep, now: time.Now} }

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
		if cause := p.sleep(ctx, wait); cause != nil {
			return cause
		}
		err = nil
	}
	return err
}

// begin says how many attempts a call has, or why none.
func (p *Retrying) begin() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notBefore.After(p.now()) {
		return 0, p.asked()
	}
	if p.failing {
		return 1, nil
	}
	return attempts, nil
}

// asked is the error of a source that wants to be left alone: the same for who got that answer, and
// for who does not ask.
func (p *Retrying) asked() error {
	return graph.Transient(fmt.Errorf("it asked to be left alone until %s: %w", p.notBefore.UTC().Format(time.RFC3339),
		p.why))
}

// judge takes note of how a request went, and says whether to make another one, and when. Its error
// is the request's, with what the source asked for.
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
		wait += after + time.Duration(rand.Int64N(int64(after/4)+1)) // many got the same time
		p.notBefore, p.why = p.now().Add(after), err
		err = p.asked()
	}
	return wait, wait <= longWait, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
