package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

var (
	// ErrStalled says that a server sent nothing, or next to nothing, for as long as a client
	// waits.
	ErrStalled = errors.New("too slow: look at the server, the proxy and the MTU on the way, or name a mirror that is " +
		"quicker")

	errClosed = errors.New("it was closed")
)

// body is an answer's body that gives up when too little comes, and whose errors are explained.
type body struct {
	rest    io.ReadCloser
	stall   time.Duration // that reads may wait for least bytes
	least   int64
	came    atomic.Int64  // since that time was last begun
	left    time.Duration // of it
	timer   *time.Timer   // runs while a read waits: a reader that is slow itself stalls nothing
	done    context.CancelCauseFunc
	explain func(error) error
}

// LimitStalls is an answer's body that gives up when reads waited for as long as stall, and less
// than
// [Floor] came meanwhile. ctx is its request's, which done ends; errors are what [Explain] makes of
// them.
func LimitStalls(ctx context.Context, rest io.ReadCloser, stall time.Duration,
	done context.CancelCauseFunc) io.ReadCloser {
	b := &body{rest: rest, stall: stall, least: int64(stall.Seconds() * Floor), left: stall, done: done}
	b.explain = func(err error) error { return Explain(ctx, err) }
	b.timer = time.AfterFunc(stall, b.giveUp)
	b.timer.Stop()
	return b
}

func (b *body) giveUp() {
	b.done(fmt.Errorf("%d bytes in %s, where %d are the least, is %w", b.came.Load(), b.stall, b.least, ErrStalled))
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	begun := time.Now()
	b.timer.Reset(b.left)
	n, err := b.rest.Read(p)
	b.timer.Stop()
	b.left = max(b.left-time.Since(begun), 0)
	if b.came.Add(int64(n)) >= b.least {
		b.left = b.stall
		b.came.Store(0)
	}
	if err != nil && err != io.EOF {
		err = b.explain(err)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.timer.Stop()
	b.done(errClosed)
	return b.rest.Close()
}

// Name is a body whose errors of reading are what name makes of them.
func Name(rest io.ReadCloser, name func(error) error) io.ReadCloser { return named{rest, name} }

type named struct {
	io.ReadCloser
	name func(error) error
}

// Read implements [io.Reader].
func (n named) Read(p []byte) (int, error) {
	read, err := n.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = n.name(err)
	}
	return read, err
}

// short is how much of an answer that is not wanted is read all the same.
const short = 64 << 10

// Drain closes an answer that is not wanted. A short one is read to its end, so that the connection
// can serve the next request.
func Drain(r *http.Response) error {
	_, _ = io.CopyN(io.Discard, r.Body, short)
	return r.Body.Close()
}
