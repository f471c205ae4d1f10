package publish

import (
	"context"
	"crypto/sha256"
	"sync"

	"github.com/netwright/netwright/pkg/report"
)

// maxEvents is how many events Latest stores until they are taken.
const maxEvents = 256

// Latest passes statuses from the daemon's loop, which must not wait, to a slow consumer: the
// newest status, and the events since the last one that was taken. A status in which only times
// changed is not new ([report.Status.Digest]). Several goroutines may use it.
type Latest struct {
	mu     sync.Mutex
	now    *report.Status
	taken  [sha256.Size]byte // digest of the last one that was taken
	events []report.Event
	missed int
	notify chan struct{}
}

// News is a new status and the events since the one before.
type News struct {
	Status *report.Status
	Events []report.Event
	Missed int // number of older events that were dropped
}

// Observe stores the status and its events. It never waits.
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
	default: // a wake-up is pending
	}
}

// waker creates the channel when it is first needed, so that the zero value works.
func (l *Latest) waker() chan struct{} {
	if l.notify == nil {
		l.notify = make(chan struct{}, 1)
	}
	return l.notify
}

// Now returns the newest status; nil before the first.
func (l *Latest) Now() *report.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Next waits until there is news. Only one goroutine may call it. It returns false where ctx ended.
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

// take returns the news, if there are any.
func (l *Latest) take() (News, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == nil {
		return News{}, false
	}
	digest := l.now.Digest()
	if len(l.events) == 0 && digest == l.taken {
		return News{}, false
	}
	news := News{l.now, l.events, l.missed}
	l.taken, l.events, l.missed = digest, nil, 0
	return news, true
}
