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

// trigger is the reason why the loop stopped waiting.
type trigger struct {
	cause     string       // for status and log: "interval", "the store changed"
	cacheOnly bool         // only the host can have changed: the pass does not ask the APIs
	event     bool         // an event of the host is the reason; cpuBudget limits such passes
	job       *control.Job // the command of a client; nil: there is none
	got       *looked      // the result of a look; nil: there was none
}

// want is a request for a look.
type want struct {
	cause string
	job   *control.Job // nil: the daemon itself wants it
	asked bool         // the signal for a reload asked for the look, and for a pass after it
}

// looked is the result of a look.
type looked struct {
	desired *desired.State    // nil: there are no newer documents
	err     error             // why there are no newer documents
	answers *discover.Answers // nil: no other source was asked
	took    time.Duration
	pass    reconcile.Pass // with the options that the look had
	lost    bool           // the look has not ended
}

// looking is a look under way.
type looking struct {
	want
	began  time.Time
	pass   reconcile.Pass
	result chan looked // with a buffer of one
	late   *time.Timer // when to give the look up
	stop   context.CancelCauseFunc
	old    bool // the result will not be used
	lost   bool // the look was given up and has not ended
}

// looks is the state of the looks.
type looks struct {
	now     *looking          // nil: none is under way
	wanted  []want            // served in this order
	answers *discover.Answers // of the last look
	node    *config.Node
}

// idle reports that no look is under way or wanted.
func (s *looks) idle() bool { return len(s.wanted) == 0 && (s.now == nil || s.now.lost) }

// result receives the result of the look under way; nil: there is none.
func (s *looks) result() <-chan looked {
	if s.now == nil {
		return nil
	}
	return s.now.result
}

// late receives when it is time to give up the look under way.
func (s *looks) late() <-chan time.Time {
	if s.now == nil {
		return nil
	}
	return s.now.late.C
}

// refuse answers the client, if there is one, that nothing was done.
func (w want) refuse(why error) {
	if w.job != nil {
		w.job.End(control.Event{Error: control.Failed(why, why)})
	}
}
