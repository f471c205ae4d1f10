package report

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"
)

// StatusView is a status as read from outside of the daemon: the last one that was published, where
// it was read, and why no newer one exists. `agent status -o json` prints one.
type StatusView struct {
	*Status        // nil: no status was published since the boot
	Daemon  Daemon `json:"daemon"`
}

// Daemon is whether a daemon keeps the node right.
type Daemon struct {
	Running bool `json:"running"`
	// From is where the status was read: "socket" of a running daemon, or the path of the file that
	// a daemon left; "": nowhere.
	From string `json:"from,omitempty"`
	// Why says in one line why no daemon runs, and Do says what to do.
	Why string `json:"why,omitempty"`
	Do  string `json:"do,omitempty"`
	// Off are the switches that keep the daemon from starting at the next boot, each with what to
	// do to turn it on again.
	Off []string `json:"off,omitempty"`
}

// Verdict is a status in one word, for automation.
type Verdict string

// The verdicts.
const (
	Right Verdict = "right"
	// Wrong means that somebody must look: a key fails, is contested or is only reported, or a
	// certificate has expired.
	Wrong      Verdict = "wrong"
	Awaited    Verdict = "awaited"  // only time is needed, or a person who holds the node back
	NotRunning Verdict = "unserved" // no daemon runs: the status may be out of date
)

// Verdict returns the verdict on the view.
func (v StatusView) Verdict() Verdict {
	switch {
	case !v.Daemon.Running || v.Status == nil:
		return NotRunning
	case slices.ContainsFunc(v.Certificates, Certificate.expired):
		return Wrong
	case v.State == NodeConverged && v.Waiting == nil:
		return Right
	case v.State == NodeConverged, v.State == NodeSilent, v.State == NodeWaiting, v.State == NodeStarting,
		v.State == NodePaused:
		return Awaited
	}
	return Wrong
}

// lasting returns the status without what each pass changes.
func (s *Status) lasting() Status {
	l := *s
	l.Up = 0
	l.At, l.Next, l.Last, l.Wakes, l.Totals.Passes = time.Time{}, time.Time{}, nil, nil, 0
	l.Configuration.Checked = time.Time{}
	if l.Working != nil && l.Working.Changes == 0 {
		l.Working = nil
	}
	return l
}

// Digest returns a digest of the status. It is the same for two statuses that differ at most in
// times and in what a pass without changes counts.
func (s *Status) Digest() [sha256.Size]byte {
	data, err := json.Marshal(s.lasting())
	if err != nil {
		return [sha256.Size]byte{} // such data always has a JSON form
	}
	return sha256.Sum256(data)
}
