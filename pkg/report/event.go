package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/generation"
)

// Event is something that happened to a node. It is reported once.
type Event struct {
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	Key  string    `json:"key,omitempty"` // of a task; "": the event concerns the node
	Text string    `json:"text"`
}

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	EventChanged    EventKind = "changed"     // by intention
	EventRepaired   EventKind = "repaired"    // another program or person had changed it
	EventFailed     EventKind = "failed"      // a key, or the pass
	EventWaiting    EventKind = "waiting"     // a key, or a newer configuration
	EventContested  EventKind = "contested"   // the repair was given up
	EventDrifted    EventKind = "drifted"     // the key is not as wanted, and is only reported
	EventRight      EventKind = "right again" // a key that failed, waited, drifted or was contested
	EventRolledBack EventKind = "rolled back"
	EventPaused     EventKind = "paused"
	EventResumed    EventKind = "resumed"
	EventConfigured EventKind = "configured" // another configuration was applied
	EventUntrusted  EventKind = "untrusted"  // no trusted key signed what the store has
)

// Warns reports whether somebody should look at the event.
func (k EventKind) Warns() bool {
	switch k {
	case EventFailed, EventContested, EventDrifted, EventRolledBack, EventUntrusted:
		return true
	}
	return false
}

// Events returns what happened between two statuses of one daemon, and in the pass between them,
// which may be nil. before may be nil, too.
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

// steps adds the changes that were made.
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
		e.add(kind, s.Key, cmp.Or(s.Wrong(), s.Why, s.Key))
	}
}

// Wrong returns what was wrong before the step. If the task's first key was right, Wrong names the
// keys that were not.
func (s *Step) Wrong() string {
	var keys []string
	for i := range s.Items {
		keys = append(keys, s.Items[i].Key)
	}
	if s.Reason == "" || len(keys) == 0 || slices.Contains(keys, s.Key) {
		return s.Reason
	}
	return s.Reason + ": " + Listed(keys)
}

// becomes maps a new state of a key to its event.
var becomes = map[KeyState]EventKind{KeyFailing: EventFailed, KeyWaiting: EventWaiting, KeyContested: EventContested,
	KeyDrifted: EventDrifted}

// keys adds events for keys with a changed state. Keys that only follow another key are left out.
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
				text += "; the other writer is " + k.Writer
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

// node adds the events of the whole node.
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

// services adds events for services that stopped working or work again. A new service is reported
// only where it does not work.
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
