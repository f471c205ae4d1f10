package daemon

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/discover"
)

// trigger is why the daemon stopped waiting.
type trigger struct {
	cause     string       // for status and log: "interval", "the store changed"
	cacheOnly bool         // only the host can have changed: the pass goes by what is known
	event     bool         // something on the host asks for it, which may do so without end
	job       *control.Job // what a command asks for; nil: nobody does
	got       *looked      // what the look found that this waited for; nil: it waited for none
}

// want is what a look is for.
type want struct {
	cause string
	job   *control.Job // nil: it is the daemon's own
	asked bool         // somebody asked for it, and for a pass after it
}

// looked is what came of a look.
type looked struct {
	desired *desired.State    // nil: there are no newer documents
	err     error             // why not
	answers *discover.Answers // nil: nobody was asked
	took    time.Duration
	pass    reconcile.Pass // as it was made ready for the look
	lost    bool           // the look has not ended
}

// looking is a look under way.
type looking struct {
	want
	began  time.Time
	pass   reconcile.Pass
	result chan looked // has room for one
	late   *time.Timer // when it is given up
	stop   context.CancelCauseFunc
	old    bool // its result is of no use any more
	lost   bool // it was given up, and has not ended
}

// looks are what the loop knows of its looks.
type looks struct {
	now     *looking          // nil: there is none
	wanted  []want            // one after the other
	answers *discover.Answers // by the last one that asked others
	node    *config.Node
}

// idle says that no look is under way, or about to be.
func (s *looks) idle() bool { return len(s.wanted) == 0 && (s.now == nil || s.now.lost) }

// result is where that of the look under way comes; nil: there is none.
func (s *looks) result() <-chan looked {
	if s.now == nil {
		return nil
	}
	return s.now.result
}

// late is when the look under way is given up.
func (s *looks) late() <-chan time.Time {
	if s.now == nil {
		return nil
	}
	return s.now.late.C
}

// refuse tells who asked that nothing of it is done.
func (w want) refuse(why error) {
	if w.job != nil {
		w.job.End(control.Event{Error: control.Failed(why, why)})
	}
}
