package daemon

import (
	"slices"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/hostroot"
)

// An undo by another process is counted and reported once. An undo before the daemon's start is
// not. The lines that keep it: status_after_pass.go, countPass; pkg/report/event.go, node.
func TestAnUndoOfOthersIsCounted(t *testing.T) {
	b, heard := newBox(t), &listener{}
	b.daemon.Observers = []Observer{heard}
	b.live(t, func(t *testing.T) {
		u := []ledger.Undone{{Time: time.Now().Add(-time.Hour), Digest: "a", Why: "before the daemon"}}
		hostroot.Keep(t, b.root, "undone.json", u)
		later(2 * b.daemon.Interval)
		if now := heard.last(); now.Totals.Rollbacks != 0 || len(now.Undone) != 1 || heard.heard(report.EventRolledBack, "") {
			t.Errorf("of one before the daemon: %+v, %+v", now.Totals, now.Undone)
		}
		u = append(u, ledger.Undone{Time: time.Now(), Digest: "b", Generation: 9, Why: "the hook cut the node off"})
		hostroot.Keep(t, b.root, "undone.json", u)
		later(4 * b.daemon.Interval)
		if now := heard.last(); now.Totals.Rollbacks != 1 || now.State != report.NodeConverged {
			t.Errorf("last returns %s, %+v", now.State, now.Totals)
		}
		if !slices.ContainsFunc(heard.events, func(e report.Event) bool {
			return e.Kind == report.EventRolledBack && e.Text == "generation 9: the hook cut the node off"
		}) {
			t.Errorf("the undo is not reported: %+v", heard.events)
		}
	})
}
