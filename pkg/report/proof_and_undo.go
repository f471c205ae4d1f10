package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/generation"
)

// Proof says which probes proved the last change that was kept. Without a time, no change needed a
// proof. A kind of proof is the kind of its probes.
type Proof struct {
	At         time.Time `json:"at,omitzero"`
	Generation int64     `json:"generation,omitempty"`
	By         []string  `json:"by,omitempty"`
	// Missing are the kinds of proofs that the change does not have, because no such probe
	// succeeded before it.
	Missing []string `json:"unproved,omitempty"`
}

// String returns the kinds: "neighbour, dns, store; inbound: not proved".
func (p *Proof) String() string {
	text := strings.Join(p.By, ", ")
	switch {
	case p.At.IsZero():
		text = "no change needed it yet"
	case text == "":
		text = "nothing: no probe passed before the change"
	}
	sep := "; "
	for _, kind := range p.Missing {
		text, sep = text+sep+kind+": not proved", ", "
	}
	return text
}

// Watched is a good change that started a hook. Until the time Until it is undone if it costs the
// node its gateway and its store.
type Watched struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest,omitempty"`
	Until      time.Time `json:"until"`
}

// Undone is a change that was undone.
type Undone struct {
	At         time.Time   `json:"at"`
	Cause      UndoneCause `json:"cause"`
	Generation int64       `json:"generation"`
	Digest     string      `json:"digest,omitempty"`
	Why        string      `json:"why,omitempty"`
}

// UndoneCause is why a change was undone.
type UndoneCause string

// The causes.
const (
	UndoneFailed      UndoneCause = "failed" // a probe or a unit failed with it, or its agent was killed
	UndoneBoot        UndoneCause = "boot"   // the first boot with it failed
	UndoneUnconfirmed UndoneCause = "unconfirmed"
)

// UndoneAfter returns when a failed change was last undone; zero if that was not after the time
// last, or for a nil plan.
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

// numbered returns the name of a generation for a text; "" for a configuration without a number.
func numbered(number int64) string {
	if number == 0 {
		return ""
	}
	return generation.Name(number, "") + ", "
}

// undoShown is how long an undo is shown where everything has been right since.
const undoShown = 24 * time.Hour

// afterChange writes the proof, the watch and the last undo.
func (t *statusText) afterChange(s *Status) {
	if p := s.Proof; p != nil {
		line := fmt.Sprintf("proved by      %s", p)
		if !p.At.IsZero() {
			line += fmt.Sprintf(" (%s%s)", numbered(p.Generation), ago(p.At, t.now))
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
		t.say("", yellow, fmt.Sprintf("undone         %s, %s: %s", ago(u.At, t.now),
			generation.Name(u.Generation, u.Digest), above(t.why, u.Why)))
	}
}
