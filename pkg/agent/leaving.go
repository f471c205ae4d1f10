package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// leaving is a key that somebody changed and that stays so for now.
type leaving struct {
	change *tasks.Change
	state  report.State
	text   string
	until  time.Time     // when it is repaired after all; zero: not by itself
	drift  *ledger.Drift // nil: it was never repaired
	pods   bool          // pods stand on it
	failed error         // it is nobody's doing: the unit does not come up
}

// leave says that a change is not made, since documents say so or somebody makes it again and
// again; nil: it is made.
func (d *drift) leave(ctx context.Context, t tasks.Task, c *tasks.Change, e ledger.Entry) *leaving {
	was := e.Drift
	l := &leaving{change: c, drift: was}
	switch mode, key := d.mode(t); mode {
	case policy.Report:
		l.state, l.text, l.pods = report.Drifted, "somebody changed it; it is only reported: "+d.node.Says(key), d.pods(t)
		return l
	case policy.Ignore:
		l.state, l.text = report.Ignored, "somebody changed it; it is left to them: "+d.node.Says(key)
		return l
	}
	rule := d.rule(t, was)
	if rule.repair {
		return nil
	}
	l = d.leaving(t, c, was, rule)
	if err := stays(ctx, d.view, t, e.Pending); err != nil {
		l.state, l.failed = report.Failed, err
		l.text = fmt.Sprintf("%v; after %d more starts since %s it is started again at %s, or when somebody asks (agent --once)", err, len(was.Recent), clock(was.Recent[0]), clock(rule.until))
	}
	return l
}

// leaving says how a key stands about which somebody quarrels.
func (d *drift) leaving(t tasks.Task, c *tasks.Change, was *ledger.Drift, rule ruling) *leaving {
	l := &leaving{change: c, state: report.Waits, drift: was, until: rule.until, pods: d.pods(t)}
	since, when := clock(was.Recent[0]), clock(rule.until)
	l.text = fmt.Sprintf("its turn: somebody changed it back after each of %d repairs since %s; it is repaired again at %s", len(was.Recent), since, when)
	if !rule.contested {
		return l
	}
	l.state = report.Contested
	l.text = fmt.Sprintf("somebody changed it back after each of %d repairs since %s: it is left alone until %s, or until somebody asks (agent --once)", len(was.Recent), since, when)
	if l.pods {
		l.text = fmt.Sprintf("pods stand on it, and somebody has changed it back after each repair since %s: it is repaired every %s, for as long as that goes on", since, podsPause)
	}
	return l
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// rule is that of the quarrel about a key.
func (d *drift) rule(t tasks.Task, was *ledger.Drift) ruling {
	switch {
	case d.afresh:
		return ruling{repair: true, anew: true}
	case d.pods(t):
		return d.peace.judgePods(was, d.now, d.gone(was))
	}
	return d.peace.judge(was, d.now, d.gone(was))
}

// gone says that it is known who else wrote a key, and that it does not run any more.
func (d *drift) gone(was *ledger.Drift) bool {
	v, can := d.view.(interface{ Runs(host.WriterID) bool })
	return can && was != nil && was.By.PID != 0 && !v.Runs(was.By)
}

// mode is that of a task: of its first key that documents name, else of its kind.
func (d *drift) mode(t tasks.Task) (mode, key string) {
	keys := t.Owns()
	named := slices.IndexFunc(keys, func(k graph.Key) bool { return d.node.Drift.Keys[string(k)] != "" })
	key = string(keys[max(named, 0)])
	mode, _ = d.node.Mode(key)
	return mode, key
}

// end is how the visit of a task ends whose change is not made. What needs it goes on with what is
// there; if nothing is, it waits.
func (l *leaving) end() error {
	if l.failed != nil {
		return l.failed
	}
	if slices.ContainsFunc(l.change.Items, func(it tasks.Item) bool { return it.Op != tasks.Create }) {
		return nil
	}
	return graph.Wait(l.text)
}

// leaves says that the change of a task is not made, and why.
func (c *changes) leaves(key graph.Key) *leaving {
	if c.drift == nil {
		return nil
	}
	c.drift.mu.Lock()
	defer c.drift.mu.Unlock()
	return c.drift.left[key]
}

// tell puts it into the step of its task.
func (l *leaving) tell(s *report.Step) {
	s.State, s.Message, s.Repair, s.Asks, s.Disruption = l.state, l.text, false, nil, ""
	s.Pods = l.pods
	if l.drift != nil {
		s.Count, s.Writer, s.By = len(l.drift.Recent), l.drift.Writer, l.drift.By
	}
	if l.drift != nil && l.pods && l.state == report.Contested {
		s.Count = l.drift.Repairs
	}
}

// fights says that the repair of a task did not end the quarrel about it; nil: there is none.
func (c *changes) fights(key graph.Key) *leaving {
	if c.drift == nil {
		return nil
	}
	c.drift.mu.Lock()
	defer c.drift.mu.Unlock()
	return c.drift.fought[key]
}

// over notes that a key which was to be left is right.
func (d *drift) over(key graph.Key) {
	if d != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.left, key)
	}
}

// lookAgain is when the first of what is left is repaired after all; zero: nothing is.
func (d *drift) lookAgain() (at time.Time) {
	if d == nil {
		return at
	}
	for _, l := range d.left {
		if !l.until.IsZero() && (at.IsZero() || l.until.Before(at)) {
			at = l.until
		}
	}
	return at
}
