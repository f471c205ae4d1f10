package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/generation"
)

// Proof is by what a change was proved that stayed; without a time, there was none that needed it.
// A kind of proof is that of its probes.
type Proof struct {
	At         time.Time `json:"at,omitzero"`
	Generation int64     `json:"generation,omitempty"`
	By         []string  `json:"by,omitempty"`
	// Missing are the kinds of proofs that it does not have: nothing of them answered before it.
	Missing []string `json:"unproved,omitempty"`
}

// String is "neighbour, dns, store; inbound: not proved".
func (p *Proof) String() string {
	text := strings.Join(p.By, ", ")
	switch {
	case p.At.IsZero():
		text = "no change needed it yet"
	case text == "":
		text = "nothing, for nothing answered before"
	}
	sep := "; "
	for _, kind := range p.Missing {
		text, sep = text+sep+kind+": not proved", ", "
	}
	return text
}

// Watched is a good change that started a hook, and that is undone until then if it costs the node
// its gateway and its store.
type Watched struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest,omitempty"`
	Until      time.Time `json:"until"`
}

// Undone is a change that was taken back.
type Undone struct {
	At         time.Time   `json:"at"`
	Cause      UndoneCause `json:"cause"`
	Generation int64       `json:"generation"`
	Digest     string      `json:"digest,omitempty"`
	Why        string      `json:"why,omitempty"`
}

// UndoneCause is why a change was taken back.
type UndoneCause string

// The causes.
const (
	UndoneFailed      UndoneCause = "failed" // a probe or a unit failed with it, or its agent was killed
	UndoneBoot        UndoneCause = "boot"   // the first boot with it failed
	UndoneUnconfirmed UndoneCause = "unconfirmed"
)

// UndoneAfter is when a change was last taken back that failed, zero if that was not after a time.
// Of no plan nothing is known.
func (p *Plan) UndoneAfter(last time.Time) (at time.Time) {
	if p == nil {
		return at
	}
	for _, u := range p.Undone {
		if u.Cause != UndoneUnconfirmed && u.At.After(last) {
			at, last = u.At, u.At
		}
	}
	return at
}

// numbered is "" of a configuration that has no number.
func numbered(number int64) string {
	if number == 0 {
		return ""
	}
	return generation.Name(number, "") + ", "
}

// undoShown is how long an undo is shown where all is well since.
const undoShown = 24 * time.Hour

// afterChange is what is known of earlier changes.
func (t *statusText) afterChange(s *Status) {
	if p := s.Proof; p != nil {
		line := fmt.Sprintf("proved by      %s", p)
		if !p.At.IsZero() {
			line += fmt.Sprintf(" (%s%s ago)", numbered(p.Generation), t.ago(p.At))
		}
		t.say("", "", line)
	}
	if w := s.Watched; w != nil && w.Until.After(t.now) {
		t.say("", "", fmt.Sprintf("watched        for %s more: %s started a hook, and is undone if it "+
			"costs the node gateway and store",
			span(w.Until.Sub(t.now)), generation.Name(w.Generation, w.Digest)))
	}
	if len(s.Undone) > 0 && t.now.Sub(s.Undone[0].At) < undoShown {
		u := s.Undone[0]
		t.say("", yellow, fmt.Sprintf("undone         %s ago, %s: %s", t.ago(u.At),
			generation.Name(u.Generation, u.Digest), t.above(u.Why)))
	}
}
