package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
	"syscall"
	"time"
)

// criBrief is how long a look at the host waits for a runtime that is asked in the background and
// has answered before.
const criBrief = 250 * time.Millisecond

// StatusCache asks a container runtime for its status in the background, and stores the last
// answer. So only the first caller waits for a runtime that does not answer. It is for a process
// that runs long.
type StatusCache struct {
	mu     sync.Mutex
	socket string
	asked  bool   // an answer came, or the timeout ended
	last   Status // the last answer
	valid  bool   // last is set
	err    error  // error of the last request
	now    chan struct{}
	left   bool // a caller did not wait for the present request
	news   chan struct{}
}

// NewStatusCache returns an empty cache.
func NewStatusCache() *StatusCache { return &StatusCache{news: make(chan struct{}, 1)} }

// Changed has a value to receive if the runtime has reported a status that differs from what the
// last caller of Status got.
func (r *StatusCache) Changed() <-chan struct{} {
	if r == nil {
		return nil
	}
	return r.news
}

// Status returns the present or the last known status. known says whether there is one. err says
// why the last request was not answered.
func (r *StatusCache) Status(ctx context.Context, socket string) (s Status, known bool, err error) {
	if r == nil {
		s, err = askCRI(ctx, socket, criTimeout)
		return s, err == nil, err
	}
	r.mu.Lock()
	if r.socket != socket {
		r.socket, r.asked, r.valid, r.last, r.err = socket, false, false, Status{}, nil
	}
	under := r.now
	if under == nil {
		under = make(chan struct{})
		r.now = under
		go r.ask(socket, under)
	}
	patience := criTimeout + time.Second
	switch {
	case r.asked && (r.err != nil || r.left): // it did not answer before
		patience = 0
	case r.asked:
		patience = criBrief
	}
	r.mu.Unlock()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-under:
	case <-t.C:
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == under {
		r.left = true
		if err = r.err; err == nil {
			err = fmt.Errorf("the runtime at %s did not answer within %s", socket, patience)
		}
		return r.last, r.valid, err
	}
	return r.last, r.valid, r.err
}

// ask asks once and stores the answer.
func (r *StatusCache) ask(socket string, under chan struct{}) {
	s, err := askCRI(context.Background(), socket, criTimeout)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now = nil; r.socket != socket { // the socket has changed meanwhile
		close(under)
		return
	}
	news := r.left && (err == nil && !s.same(r.last) || (err == nil) != (r.err == nil && r.valid))
	r.asked, r.err, r.left = true, err, false
	if err == nil {
		r.last, r.valid = s, true
	} else if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, ErrUnimplemented) {
		r.last, r.valid = Status{}, false // it does not run, or has no CRI: its files say how it will run
	}
	close(under)
	if news {
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

// same reports whether two answers are equal.
func (s Status) same(other Status) bool {
	ready := (s.NetworkReady == nil) == (other.NetworkReady == nil) &&
		(s.NetworkReady == nil || *s.NetworkReady == *other.NetworkReady)
	return ready && s.Name == other.Name && s.Version == other.Version && s.NetworkReason == other.NetworkReason &&
		maps.Equal(s.Info, other.Info)
}
