package e2e

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// held is a server that can be held: then it answers in a way that does not end before the test
// ends it. A zero one answers as it should.
type held struct {
	mu      sync.Mutex
	how     func(w http.ResponseWriter, end <-chan struct{})
	end     chan struct{}
	met     chan struct{} // closed when the first was held
	holding int
}

// begin holds whoever asks from now on.
func (h *held) begin(how func(w http.ResponseWriter, end <-chan struct{})) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.how, h.end, h.met = how, make(chan struct{}), make(chan struct{})
}

// now says whether anybody is held.
func (h *held) now() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holding > 0
}

// next is closed when somebody is held, from now on: at once where that is so.
func (h *held) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.met = make(chan struct{}); h.holding > 0 {
		close(h.met)
	}
	return h.met
}

// release lets all go, and answers as it should.
func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.how = nil
	close(h.end)
}

// answer holds a request; false: it is to be answered.
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

// drip answers above the slowest rate that a client takes for alive, and never comes to its end.
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

// endless has a body without an end, at 30 MB a second at most: nobody's disk is to be filled by
// it.
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
