package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

// A store that does not answer is an outage of the store, and after several intervals a state of
// its own. It is no failure of the network.
func TestASilentStore(t *testing.T) {
	b, heard := newBox(t), &listener{}
	s := &heldStore{Store: b.daemon.Store}
	b.daemon.Store, b.daemon.Observers = s, []Observer{heard}
	b.live(t, func(t *testing.T) {
		read := heard.last().Configuration.Checked
		s.hold(true)
		later(20 * time.Minute)
		if now := heard.last(); now.State != report.NodeConverged || now.Configuration.Error == "" || !now.Configuration.Silent.IsZero() {
			t.Errorf("for less than three intervals: %s, %+v", now.State, now.Configuration)
		}
		later(20 * time.Minute)
		if now := heard.last(); now.State != report.NodeSilent || now.Configuration.Silent.Before(read) || !strings.Contains(now.Reason, "it took longer than") || !now.Prepared {
			t.Errorf("for more than three intervals: %s (%s), %+v", now.State, now.Reason, now.Configuration)
		}
		s.hold(false)
		later(5 * time.Minute)
		if now := heard.last(); now.State != report.NodeConverged || !now.Configuration.Silent.IsZero() || now.Configuration.Error != "" {
			t.Errorf("after the store answers again the status is %s, %+v", now.State, now.Configuration)
		}
	})
}

// The store holds a look. Beside it the daemon makes one pass by what is known, and one pass when
// the look has ended, however often earlier looks failed. The line that keeps it: loop.go, publish
// (looks.idle).
func TestALookThatIsHeldBringsOnePass(t *testing.T) {
	b, heard := newBox(t), &listener{}
	s := &heldStore{Store: b.daemon.Store}
	b.daemon.Store, b.daemon.Observers = s, []Observer{heard}
	b.live(t, func(t *testing.T) {
		s.hold(true)
		passes, looks := heard.last().Totals.Passes, s.times()
		later(40 * time.Minute)
		passes, looks = heard.last().Totals.Passes-passes, s.times()-looks
		if looks < 5 || passes > int64(2*looks) {
			t.Errorf("%d looks brought %d passes", looks, passes)
		}
	})
}
