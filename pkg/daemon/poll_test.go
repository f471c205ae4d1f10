package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/discover"
	"github.com/netwright/netwright/pkg/statestore"
)

// After a look that finds nothing new, the daemon makes a pass only if one is due. The lines that
// keep it: store_look.go, lookEnded and needsNoPass; pkg/reconcile/discover/look_answers.go, Same.
func TestAPollThatFindsNothingNewMakesNoPass(t *testing.T) {
	_, l := watchedLoop(t)
	l.Interval, l.looks.answers = time.Minute, &discover.Answers{}
	fresh := time.Now()
	for what, c := range map[string]struct {
		change func(now *looking, got *looked)
		pass   bool
	}{
		"nothing is due":              {func(*looking, *looked) {}, false},
		"something is new":            {func(_ *looking, got *looked) { got.err = nil }, true},
		"the API says something else": {func(_ *looking, got *looked) { got.answers = nil }, true},
		"somebody asked":              {func(now *looking, _ *looked) { now.asked = true }, true},
		"the host was looked at long ago": {func(*looking, *looked) {
			l.whole = fresh.Add(-wholeEvery + l.Interval)
		}, true},
		"the last pass failed":        {func(*looking, *looked) { l.failures = 1 }, true},
		"the store was away":          {func(*looking, *looked) { l.unread = errNotYet }, true},
		"something waits, and is due": {func(*looking, *looked) { l.awaited = fresh.Add(-time.Second) }, true},
		"something waits for later":   {func(*looking, *looked) { l.awaited = fresh.Add(time.Hour) }, false},
	} {
		l.whole, l.failures, l.unread, l.awaited = fresh, 0, nil, time.Time{}
		_, stop := context.WithCancelCause(t.Context())
		now := &looking{late: time.NewTimer(time.Hour), stop: stop}
		got := looked{err: statestore.ErrNotModified, answers: &discover.Answers{}}
		c.change(now, &got)
		l.looks.now, l.looks.answers = now, &discover.Answers{}
		checked := l.status.now.Configuration.Checked
		if _, pass := l.lookEnded(got); pass != c.pass {
			t.Errorf("%s: a pass follows: %t, want %t", what, pass, c.pass)
		}
		if told := l.status.now.Configuration.Checked; !c.pass && (!told.After(checked) || time.Until(l.next) > 2*time.Minute) {
			t.Errorf("%s: the store was last asked %s, and is next at %s", what, told, l.next)
		}
	}
}

// If an interval is longer than an hour, nothing happens until it is over, whether the host is
// watched or not. The line that keeps it: timers.go, never.
func TestNothingHappensBeforeALongInterval(t *testing.T) {
	b, heard := newBox(t), &listener{}
	b.daemon.Interval, b.daemon.Observers = 4*time.Hour, []Observer{heard}
	b.live(t, func(t *testing.T) {
		later(3 * time.Hour)
		if last := heard.last(); last.Last.Cause != "start" || last.Totals.Passes != 1 {
			t.Errorf("%d passes, the last for %q", last.Totals.Passes, last.Last.Cause)
		}
	})
}
