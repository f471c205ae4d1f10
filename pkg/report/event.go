package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/generation"
)

// Event is something that happened to a node, reported once.
type Event struct {
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	Key  string    `json:"key,omitempty"` // of a task; "": it concerns the node
	Text string    `json:"text"`
}

// EventKind is what happened.
type EventKind string

// The kinds of events.
const (
	EventChanged    EventKind = "changed"     // on purpose
	EventRepaired   EventKind = "repaired"    // what somebody else had changed
	EventFailed     EventKind = "failed"      // a key, or the pass
	EventWaiting    EventKind = "waiting"     // a key, or a newer configuration
	EventContested  EventKind = "contested"   // it is given up
	EventDrifted    EventKind = "drifted"     // it is not as wanted, and is only reported
	EventRight      EventKind = "right again" // what failed, waited, drifted or was contested
	EventRolledBack EventKind = "rolled back"
	EventPaused     EventKind = "paused"
	EventResumed    EventKind = "resumed"
	EventConfigured EventKind = "configured" // a configuration is in force that was not
	EventUntrusted  EventKind = "untrusted"  // the store has what no trusted key signed
)

// Warns says that somebody should look at it.
func (k EventKind) Warns() bool {
	switch k {
	case EventFailed, EventContested, EventDrifted, EventRolledBack, EventUntrusted:
		return true
	}
	return false
}

// Events is what happened between two statuses of one daemon, and in the pass that lies between
// them, which may be nil. before may be nil too.
func Events(before, after *Status, done *Plan) []Event {
	e := events{at: after.At}
	before = cmp.Or(before, &Status{})
	if done != nil {
		e.steps(done.Steps)
	}
	e.keys(before.Keys, after.Keys)
	e.services(before.Services, after.Services)
	e.node(before, after)
	return e.list
}

type events struct {
	at   time.Time
	list []Event
}

func (e *events) add(kind EventKind, key, text string) {
	e.list = append(e.list, Event{At: e.at, Kind: kind, Key: key, Text: text})
}

// steps are the changes that were made.
func (e *events) steps(list []Step) {
	for i := range list {
		s := &list[i]
		if s.State != Done {
			continue
		}
		kind := EventChanged
		if s.Repair {
			kind = EventRepaired
		}
		e.add(kind, s.Key, cmp.Or(s.Reason, s.Why, s.Key))
	}
}

// becomes are the events of keys that come to a state.
var becomes = map[KeyState]EventKind{KeyFailing: EventFailed, KeyWaiting: EventWaiting, KeyContested: EventContested,
	KeyDrifted: EventDrifted}

// keys are those whose state is another one. What only shares another's fate is not reported.
func (e *events) keys(before, after []KeyStatus) {
	was := map[string]KeyState{}
	for i := range before {
		if k := &before[i]; k.Because == "" {
			was[k.Key] = k.State
		}
	}
	for i := range after {
		k := &after[i]
		if k.Because != "" {
			continue
		}
		if kind, tell := becomes[k.State]; tell && was[k.Key] != k.State {
			text := k.Text
			if k.Writer != "" {
				text += "; " + k.Writer + " writes it too"
			}
			e.add(kind, k.Key, text)
		}
		if _, bad := becomes[k.State]; bad {
			delete(was, k.Key)
		}
	}
	for i := range before {
		k := &before[i]
		if _, bad := becomes[k.State]; bad && was[k.Key] == k.State {
			e.add(EventRight, k.Key, "was "+string(k.State))
		}
	}
}

// node is what concerns the node as a whole.
func (e *events) node(before, after *Status) {
	if now, was := after.Configuration, before.Configuration; was.Digest != "" && now.Digest != was.Digest {
		e.add(EventConfigured, "", generation.Full(now.Generation, now.Digest)+" is in force")
	}
	if w := after.Waiting; w != nil &&
		(before.Waiting == nil || before.Waiting.Digest != w.Digest || before.Waiting.Reason != w.Reason) {
		e.add(EventWaiting, "", generation.Name(w.Generation, w.Digest)+w.class()+": "+w.Reason)
	}
	if p := after.Paused; p != nil && before.Paused == nil {
		e.add(EventPaused, "", fmt.Sprintf("until %s by %s: %s", Stamp(p.Until), p.By, p.Reason))
	}
	if after.Paused == nil && before.Paused != nil {
		e.add(EventResumed, "", "it was paused: "+before.Paused.Reason)
	}
	if after.Hangs != nil && before.Hangs == nil {
		e.add(EventFailed, "", after.Hangs.String())
	}
	if after.Totals.Rollbacks > before.Totals.Rollbacks {
		text := after.Reason
		if u := after.Undone; after.State != NodeFailing && len(u) > 0 {
			text = generation.Name(u[0].Generation, u[0].Digest) + ": " + u[0].Why
		}
		e.add(EventRolledBack, "", text)
	}
	if now, was := after.Configuration.Error, before.Configuration.Error; now != "" && now != was {
		kind := EventFailed
		if after.Configuration.Untrusted {
			kind = EventUntrusted
		}
		e.add(kind, "", now)
	}
}

// services are the events of those that begin to work or cease to. One that is new to who looks is
// reported only if it does not.
func (e *events) services(before, after []Service) {
	was := map[string]bool{}
	for _, s := range before {
		was[s.Name] = !s.Works
	}
	for _, s := range after {
		switch down := was[s.Name]; {
		case !s.Works && !down:
			e.add(EventFailed, "", s.Name+" does not work: "+s.Text)
		case s.Works && down:
			e.add(EventRight, "", s.Name+" works")
		}
	}
}
