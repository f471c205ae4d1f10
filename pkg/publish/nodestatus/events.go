package nodestatus

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/report"
)

// reasons are the reasons of published Events. Intended changes are not published: there would be
// thousands for each generation.
var reasons = map[report.EventKind]string{
	report.EventRepaired:   "NetworkRepaired",
	report.EventContested:  "NetworkContested",
	report.EventDrifted:    "NetworkDrifted",
	report.EventFailed:     "NetworkFailing",
	report.EventUntrusted:  "ConfigurationUntrusted",
	report.EventWaiting:    "NetworkWaiting",
	report.EventRolledBack: "NetworkRolledBack",
	report.EventPaused:     "NetworkPaused",
	report.EventResumed:    "NetworkResumed",
}

// Limits: a burst has room for what happens at once, and repeated conflicts about a key are one
// Event with a count.
const (
	eventBurst = 8
	eventEvery = 20 * time.Second // on average
	maxWaiting = 16               // of one reason; further keys share an Event
	maxCounted = 64               // Events whose count can be raised
	sameFor    = time.Hour        // after that a new Event is made: the API server has deleted the old one by then (--event-ttl)
)

// manyMore is the text of the shared Event.
const manyMore = "more keys changed than Events can name: agent status on the node names them"

// subject identifies what an Event is about.
type subject struct{ reason, key string }

// queued is an Event that is not published yet.
type queued struct {
	subject
	kube.Event
}

// publishedEvent is an Event in the API.
type publishedEvent struct {
	subject
	name  string
	first time.Time
	count int
}

// events are the Events that wait, and those in the API, oldest first.
type events struct {
	waiting   []queued
	published []publishedEvent
	tokens    float64 // requests that could be made at the time counted
	counted   time.Time
}

// add queues Events for what happened.
func (e *events) add(happened []report.Event, now time.Time) {
	if e.counted.IsZero() {
		e.tokens, e.counted = eventBurst, now
	}
	for i := range happened {
		h := &happened[i]
		reason, tell := reasons[h.Kind]
		if !tell {
			continue
		}
		text := h.Text
		if h.Key != "" {
			text = h.Key + ": " + h.Text
		}
		e.queue(queued{subject{reason, h.Key},
			kube.Event{Reason: reason, Message: short(text), Warning: h.Kind.Warns(), Count: 1, First: h.At,
				Last: h.At}})
	}
}

// queue queues an Event, or adds it to a waiting one with the same subject.
func (e *events) queue(u queued) {
	of := 0
	for i := range e.waiting {
		w := &e.waiting[i]
		if w.subject == u.subject {
			w.Count, w.Last, w.Message = w.Count+u.Count, u.Last, u.Message
			return
		}
		if w.reason == u.reason && w.key != "" {
			of++
		}
	}
	if of >= maxWaiting && u.key != "" {
		u.key, u.Message = "", manyMore
		e.queue(u)
		return
	}
	e.waiting = append(e.waiting, u)
}

// publishAt returns when the next Event may be published; zero: none waits, or there is no Node
// yet.
func (e *events) publishAt(node bool) time.Time {
	if !node || len(e.waiting) == 0 {
		return time.Time{}
	}
	if e.tokens >= 1 {
		return e.counted
	}
	return e.counted.Add(time.Duration((1 - e.tokens) * float64(eventEvery)))
}

// put publishes the oldest waiting Event.
func (e *events) put(ctx context.Context, to Client, node string, now time.Time) error {
	e.tokens = min(eventBurst, e.tokens+float64(now.Sub(e.counted))/float64(eventEvery))
	e.counted = now
	e.tokens--
	next := e.waiting[0]
	e.published = slices.DeleteFunc(e.published, func(t publishedEvent) bool { return now.Sub(t.first) >= sameFor })
	if i := slices.IndexFunc(e.published, func(t publishedEvent) bool { return t.subject == next.subject }); i >= 0 {
		again := next.Event
		again.Count, again.First = again.Count+e.published[i].count, e.published[i].first
		err := to.RepeatEvent(ctx, e.published[i].name, again)
		if err == nil {
			e.published[i].count = again.Count
			e.waiting = e.waiting[1:]
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		e.published = slices.Delete(e.published, i, i+1) // the API server has deleted it
	}
	name, err := to.CreateEvent(ctx, node, next.Event)
	if err != nil {
		return err
	}
	e.published = append(e.published, publishedEvent{next.subject, name, next.First, next.Count})
	if len(e.published) > maxCounted {
		e.published = e.published[1:]
	}
	e.waiting = e.waiting[1:]
	return nil
}
