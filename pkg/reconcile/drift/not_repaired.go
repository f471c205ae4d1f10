package drift

import (
	"context"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// notRepaired returns why a change is not made: documents say so, or another program changes the
// key again and again. It returns nil if the change is made.
func (d *Judge) notRepaired(ctx context.Context, t tasks.Task, c *tasks.Change, e ledger.Entry) *changes.Deferral {
	was := e.Drift
	l := &changes.Deferral{Change: c, Drift: was}
	switch mode, key := d.mode(t); mode {
	case policy.Report:
		l.State, l.Text, l.Pods = report.Drifted, "somebody changed it; the agent only reports this: "+d.node.Says(key),
			d.pods(t)
		return l
	case policy.Ignore:
		l.State, l.Text = report.Ignored, "somebody changed it; the agent leaves it so: "+d.node.Says(key)
		return l
	}
	dec := d.decide(t, was)
	if dec.repair {
		return nil
	}
	l = d.contested(t, c, was, dec)
	if err := starts.Stays(ctx, d.view, t, e.Pending); err != nil {
		l.State, l.Failed = report.Failed, err
		l.Text = fmt.Sprintf("%v; after %s since %s the agent starts it again at %s, or when somebody asks "+
			"(agent --once)", err, plural.Of(len(was.Recent), "more start"), report.Stamp(was.Recent[0]), report.Stamp(dec.until))
	}
	return l
}

// contested describes the state of a key that another program keeps changing.
func (d *Judge) contested(t tasks.Task, c *tasks.Change, was *ledger.Drift, dec decision) *changes.Deferral {
	l := &changes.Deferral{Change: c, State: report.Waits, Drift: was, Until: dec.until, Pods: d.pods(t)}
	since, when := report.Stamp(was.Recent[0]), report.Stamp(dec.until)
	l.Text = fmt.Sprintf("its next repair at %s: somebody changed it back after each of %s since %s", when,
		plural.Of(len(was.Recent), "repair"), since)
	if !dec.contested {
		return l
	}
	l.State = report.Contested
	l.Text = fmt.Sprintf("somebody changed it back after each of %s since %s: the agent leaves it "+
		"alone until %s, or until somebody asks (agent --once)", plural.Of(len(was.Recent), "repair"), since, when)
	if l.Pods {
		l.Text = fmt.Sprintf("pods depend on it, and somebody has changed it back after each repair since %s: the "+
			"agent repairs it every %s until that ends", since, PodsPause)
	}
	return l
}

// decide returns whether a key in a conflict is repaired now, and until when not.
func (d *Judge) decide(t tasks.Task, was *ledger.Drift) decision {
	switch {
	case d.force:
		return decision{repair: true, anew: true}
	case d.pods(t):
		return d.damping.judgePods(was, d.now, d.gone(was))
	}
	return d.damping.judge(was, d.now, d.gone(was))
}

// gone reports whether the other program that wrote a key is known and no longer runs.
func (d *Judge) gone(was *ledger.Drift) bool {
	return was != nil && was.By.PID != 0 && !was.By.Runs()
}

// mode returns the drift mode of a task: the mode of its first key that documents name, otherwise
// that of its kind.
func (d *Judge) mode(t tasks.Task) (mode, key string) {
	keys := t.Owns()
	named := slices.IndexFunc(keys, func(k graph.Key) bool { return d.node.Drift.Keys[string(k)] != "" })
	key = string(keys[max(named, 0)])
	mode, _ = d.node.Drift.Mode(key)
	return mode, key
}
