package publish

import (
	"context"
	"sync"

	"github.com/netwright/netwright/pkg/report"
)

// maxEvents is how many events are kept for who has not taken them yet.
const maxEvents = 256

// Latest stands between the daemon's loop, which must not wait, and somebody who takes his time:
// the newest status, and what happened since it was taken. A status that differs in nothing
// but times is no news ([report.Status.Same]). Safe for several goroutines.
type Latest struct {
	mu        sync.Mutex
	now       *report.Status
	published *report.Status // as it was taken last
	events    []report.Event
	missed    int
	notify    chan struct{}
}

// News is what there is to publish.
type News struct {
	Status *report.Status
	Events []report.Event
	Missed int // older events that found no room
}

// Observe takes note, and never waits.
func (l *Latest) Observe(now *report.Status, happened []report.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = now
	l.events = append(l.events, happened...)
	if more := len(l.events) - maxEvents; more > 0 {
		l.events, l.missed = append([]report.Event(nil), l.events[more:]...), l.missed+more
	}
	select {
	case l.waker() <- struct{}{}:
	default: // who takes it was woken already
	}
}

// waker is made when it is first asked for, so that the zero value works.
func (l *Latest) waker() chan struct{} {
	if l.notify == nil {
		l.notify = make(chan struct{}, 1)
	}
	return l.notify
}

// Now is the newest status, nil before the first.
func (l *Latest) Now() *report.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Next waits until there is something new to publish. It is for one goroutine. False: ctx ended.
func (l *Latest) Next(ctx context.Context) (News, bool) {
	l.mu.Lock()
	wake := l.waker()
	l.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return News{}, false
		case <-wake:
			if news, some := l.take(); some {
				return news, true
			}
		}
	}
}

// take is what is new, if anything is.
func (l *Latest) take() (News, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == 0 && l.now.Same(l.published) {
		return News{}, false
	}
	news := News{l.now, l.events, l.missed}
	l.published, l.events, l.missed = l.now, nil, 0
	return news, true
}
