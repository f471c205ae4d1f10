package report

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// StatusView is what is known of a node from outside of its daemon: the status that was published
// last, by whom, and why there is none that is newer. `agent status -o json` is one.
type StatusView struct {
	*Status        // nil: none was published since the boot
	Daemon  Daemon `json:"daemon"`
}

// Daemon is whether somebody keeps the node right.
type Daemon struct {
	Running bool `json:"running"`
	// From is where the status comes from: "socket" of a daemon that runs, or the path of the file
	// that one left; "": from nowhere.
	From string `json:"from,omitempty"`
	// Why no daemon runs, in one line, and what to do about it.
	Why string `json:"why,omitempty"`
	Do  string `json:"do,omitempty"`
	// Off are the switches that keep the daemon from starting at the next boot, each with what to
	// do to turn it on again.
	Off []string `json:"off,omitempty"`
}

// Verdict is a status in one of four words, for automation.
type Verdict string

// The verdicts.
const (
	Right      Verdict = "right"
	Wrong      Verdict = "wrong"    // somebody must look: a key fails, is contested, or is only reported
	Awaited    Verdict = "awaited"  // only time, or somebody who holds the node back, is needed
	NotRunning Verdict = "unserved" // no daemon runs: whatever the status says may be true no more
)

// Verdict is the view in one word.
func (v StatusView) Verdict() Verdict {
	switch {
	case !v.Daemon.Running || v.Status == nil:
		return NotRunning
	case v.State == NodeConverged && v.Waiting == nil:
		return Right
	case v.State == NodeConverged, v.State == NodeSilent, v.State == NodeWaiting, v.State == NodeStarting,
		v.State == NodePaused:
		return Awaited
	}
	return Wrong
}

// Same says that one status tells no news beside the other: at most times differ, and what a pass
// without changes counts. Each may be nil.
func (s *Status) Same(o *Status) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.digest() == o.digest()
}

// lasting is the status without what every pass changes.
func (s *Status) lasting() Status {
	l := *s
	l.At, l.Next, l.Last, l.Wakes, l.Totals.Passes = time.Time{}, time.Time{}, nil, nil, 0
	l.Configuration.Checked = time.Time{}
	if l.Working != nil && l.Working.Changes == 0 {
		l.Working = nil
	}
	return l
}

// digest is what a status says that lasts.
func (s *Status) digest() [sha256.Size]byte {
	data, err := json.Marshal(s.lasting())
	if err != nil {
		return [sha256.Size]byte{} // plain data always has a JSON form
	}
	return sha256.Sum256(data)
}
