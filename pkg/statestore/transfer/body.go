package transfer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

var (
	// ErrStalled says that a server sent nothing for longer than a client waits.
	ErrStalled = errors.New("not a byte came for too long: look at the server, the proxy and the MTU on the way")

	errClosed = errors.New("it was closed")
)

// body is an answer's body that gives up when nothing comes, and whose errors are explained.
type body struct {
	rest    io.ReadCloser
	stall   time.Duration
	timer   *time.Timer // runs while a read waits: a reader that is slow itself stalls nothing
	done    context.CancelCauseFunc
	explain func(error) error
}

// Guard is an answer's body that gives up when nothing comes for as long as stall. ctx is its request's, which done ends; errors are what [Explain] makes of them.
func Guard(ctx context.Context, rest io.ReadCloser, stall time.Duration, done context.CancelCauseFunc) io.ReadCloser {
	b := &body{rest: rest, stall: stall, done: done, timer: time.AfterFunc(stall, func() { done(ErrStalled) })}
	b.explain = func(err error) error { return Explain(ctx, err) }
	b.timer.Stop()
	return b
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(b.stall)
	n, err := b.rest.Read(p)
	b.timer.Stop()
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

// short is how much of an answer that is not wanted is read all the same.
const short = 64 << 10

// Drain closes an answer that is not wanted. A short one is read to its end, so that the connection can serve the next request.
func Drain(r *http.Response) error {
	_, _ = io.CopyN(io.Discard, r.Body, short)
	return r.Body.Close()
}
