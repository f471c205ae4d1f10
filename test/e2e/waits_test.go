package e2e

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// held holds the requests of a server: it answers them in a way that does not end before the test
// ends it. Its zero value holds none.
type held struct {
	mu      sync.Mutex
	how     func(w http.ResponseWriter, end <-chan struct{})
	end     chan struct{}
	met     chan struct{} // closed when the first request is held
	holding int
}

// begin holds all requests from now on.
func (h *held) begin(how func(w http.ResponseWriter, end <-chan struct{})) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.how, h.end, h.met = how, make(chan struct{}), make(chan struct{})
}

// now says whether a request is held.
func (h *held) now() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holding > 0
}

// next returns a channel that is closed when a request is held. It is closed at once if a request
// is held now.
func (h *held) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.met = make(chan struct{}); h.holding > 0 {
		close(h.met)
	}
	return h.met
}

// release ends all held requests, and holds no more.
func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.how = nil
	close(h.end)
}

// answer holds a request. It returns false if the caller must answer the request.
func (h *held) answer(w http.ResponseWriter, r *http.Request) bool {
	h.mu.Lock()
	how, end := h.how, h.end
	if how == nil {
		h.mu.Unlock()
		return false
	}
	h.holding++
	select {
	case <-h.met:
	default:
		close(h.met)
	}
	h.mu.Unlock()
	over, gone := make(chan struct{}), r.Context().Done()
	go func() {
		defer close(over)
		select {
		case <-end:
		case <-gone:
		}
	}()
	how(w, over)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding--
	return true
}

// blackHole never answers.
func blackHole(_ http.ResponseWriter, end <-chan struct{}) { <-end }

// drip sends a little more than the slowest rate that a client accepts, without an end.
func drip(w http.ResponseWriter, end <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := w.Write([]byte(strings.Repeat(" ", 200))); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-end:
			return
		case <-tick.C:
		}
	}
}

// endless sends a body without an end, at no more than 30 MB a second, so that no disk fills up.
func endless(w http.ResponseWriter, end <-chan struct{}) {
	chunk := []byte(strings.Repeat(" ", 300<<10))
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
		select {
		case <-end:
			return
		case <-tick.C:
		}
	}
}
