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
	// ErrStalled is the error of a server that sends less than [Floor] for longer than the client
	// waits.
	ErrStalled = errors.New("too slow: look at the server, the proxy and the MTU on the way, or name a mirror that is " +
		"quicker")

	errClosed = errors.New("it was closed")
)

// body is a response body that fails if the server is too slow, and whose errors say what to do.
type body struct {
	rest    io.ReadCloser
	stall   time.Duration // time within which reads must get least bytes
	least   int64
	came    atomic.Int64  // bytes since that time began
	left    time.Duration // rest of that time
	timer   *time.Timer   // runs only during a Read, so that a slow reader causes no error
	done    context.CancelCauseFunc
	explain func(error) error
}

// LimitStalls returns a response body that fails if its reads have waited for stall and received
// less than [Floor] meanwhile. ctx is the context of the request, and done cancels it. [Explain]
// makes the errors.
func LimitStalls(ctx context.Context, rest io.ReadCloser, stall time.Duration,
	done context.CancelCauseFunc) io.ReadCloser {
	b := &body{rest: rest, stall: stall, least: int64(stall.Seconds() * Floor), left: stall, done: done}
	b.explain = func(err error) error { return Explain(ctx, err, "") }
	b.timer = time.AfterFunc(stall, b.giveUp)
	b.timer.Stop()
	return b
}

func (b *body) giveUp() {
	b.done(fmt.Errorf("%d bytes in %s, expected at least %d: %w", b.came.Load(), b.stall, b.least, ErrStalled))
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

// Name returns a body whose read errors are changed by name.
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

// short is how many bytes of an unwanted response body are read before it is closed.
const short = 64 << 10

// Drain closes the body of an unwanted response. It reads a short body to its end, so that the
// connection can be reused.
func Drain(r *http.Response) error {
	_, _ = io.CopyN(io.Discard, r.Body, short)
	return r.Body.Close()
}

// ReadObject reads the body of an answer with an object. length is the one that the server states,
// -1 if it states none. An object of more than limit bytes is an error.
func ReadObject(name string, body io.Reader, length, limit int64) (data []byte, err error) {
	if length <= limit {
		data, err = io.ReadAll(io.LimitReader(body, limit+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("get %s: after %d bytes: %w", name, len(data), err)
	case max(length, int64(len(data))) > limit:
		return nil, fmt.Errorf("get %s: the server sends more than the expected maximum of %d bytes: check what the "+
			"store has there, and publish again", name, limit)
	}
	return data, nil
}
