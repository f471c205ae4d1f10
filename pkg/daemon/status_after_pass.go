package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore/trust"
)

// passResult is what the loop tells the status after a pass.
type passResult struct {
	desired *desired.State // the last documents that were usable
	ready   bool           // kubelet may start
	next    time.Time      // when to look again
	wakes   map[string]int64
	away    bool // the store does not answer
	pinned  bool // the node has the pinned configuration, and the store has another one
}

// ended publishes the status after a pass.
func (s *nodeStatus) ended(w trigger, out outcome, clock *phases, a passResult) {
	next := s.now
	next.Working, next.Prepared, next.Next, next.Wakes = nil, a.ready, a.next, a.wakes
	next.Configuration = s.configuration(w, out, a)
	next.Last = s.countPass(&next.Totals, w, out, clock)
	if out.plan != nil {
		s.takePlan(&next, out.plan)
	}
	next.State, next.Reason = stateAfter(&next, out.plan, a.away)
	s.state, s.reason = next.State, next.Reason
	next.State, next.Reason = withServices(s.state, s.reason, next.Services)
	if next.Last.Changed+next.Last.Repairs > 0 || time.Since(s.certs) > certsEvery {
		next.Certificates, s.certs = s.certificates(), time.Now()
	}
	s.publish(next, out.plan)
}

// countPass adds a pass to the totals, and returns what the status says of it.
func (s *nodeStatus) countPass(t *report.Totals, w trigger, out outcome, clock *phases) *report.LastPass {
	t.Passes++
	if out.load != nil || out.err != nil {
		t.Failed++
	}
	var undone *checkpoint.UndoneError
	at := out.plan.UndoneAfter(s.undone) // an undo by the watching process or a unit's probation counts, too
	if errors.As(out.err, &undone) || !at.IsZero() {
		t.Rollbacks++
	}
	if s.undone.Before(at) {
		s.undone = at
	}
	changed, repaired := s.count(out.plan)
	t.Changes, t.Repairs = t.Changes+int64(changed), t.Repairs+int64(repaired)
	last := &report.LastPass{Cause: w.cause, Began: clock.began, Took: report.SecondsOf(time.Since(clock.began)),
		Phases: clock.list(), Changed: changed, Repairs: repaired}
	if out.err != nil {
		last.Error = desired.OneLine(out.err)
	}
	return last
}

// takePlan takes what the plan of a pass says of the node and its keys into the status.
func (s *nodeStatus) takePlan(next *report.Status, p *report.Plan) {
	next.Node, next.Cluster, next.NodeGroup, next.Network = cmp.Or(p.Node, next.Node),
		cmp.Or(p.Cluster, next.Cluster), cmp.Or(p.NodeGroup, next.NodeGroup), p.Network
	next.Pinned, next.PendingEffects, next.Notes = p.Pinned, p.PendingEffects, p.Notes
	next.AwaitingBoot, next.AwaitingBootSince = p.AwaitingBoot, p.AwaitingBootSince
	next.Proof, next.Watched, next.Undone = p.Proof, p.Watched, p.Undone
	next.Paused, next.Waiting, next.Awaits = p.Paused, p.Waiting, p.Awaits
	next.Keys = keysOf(p, next.Keys, time.Now())
	next.Kinds = s.kinds(p)
	s.logPause(p.Paused)
}

// stateAfter returns the state of the node after a pass, and its reason. Without a plan, the state
// of the keys is that of the pass before. away is whether the store does not answer.
func stateAfter(now *report.Status, p *report.Plan, away bool) (state report.NodeState, reason string) {
	state, reason = now.State, now.Reason
	if p != nil {
		state, reason = stateOfPlan(p, now.Keys)
	}
	why := cmp.Or(now.Last.Error, now.Configuration.Error)
	if now.Last.Error == "" && away && p != nil {
		why = "" // an outage of the store is no fault of the node's network
	}
	if silent := now.Configuration.Silent; why == "" && !silent.IsZero() && state == report.NodeConverged {
		return report.NodeSilent,
			fmt.Sprintf("the store was not read since %s: %s", report.Stamp(silent), now.Configuration.Error)
	}
	// Where no task failed, the pass itself did, for example because a full disk kept it from
	// writing the ledger. Then the state of the keys is not the reason.
	blameless := p == nil || p.Summary.Failed == 0
	if why != "" && state != report.NodeCritical && (state != report.NodeFailing || reason == "" || blameless) {
		return report.NodeFailing, why
	}
	return state, reason
}

// stateOfPlan returns the state of the node by its keys. Where nothing is wrong with them, it is
// what the node waits for.
func stateOfPlan(p *report.Plan, keys []report.KeyStatus) (state report.NodeState, reason string) {
	state, reason = stateOf(keys, p.Summary)
	switch {
	case p.Paused != nil && calm(state):
		return report.NodePaused, p.Paused.String()
	case p.Awaits != nil && calm(state):
		return report.NodeWaiting, p.Awaits.String()
	case p.Waiting != nil && state == report.NodeConverged:
		return report.NodeWaiting, generation.Name(p.Waiting.Generation, p.Waiting.Digest) + ": " + p.Waiting.Reason
	}
	return state, reason
}

// calm reports whether nothing is wrong in a state.
func calm(s report.NodeState) bool { return s == report.NodeConverged || s == report.NodeWaiting }

// configuration returns the configuration part of the status.
func (s *nodeStatus) configuration(w trigger, out outcome, a passResult) report.Configuration {
	was := s.now.Configuration
	now := was
	if !w.cacheOnly {
		now.Error = ""
		if out.load == nil {
			now.Checked, now.Silent = time.Now(), time.Time{}
		} else {
			now.Error = desired.OneLine(out.load)
			now.Silent = s.silentSince(a.away)
		}
		now.Untrusted, now.Pinned = errors.Is(out.load, trust.ErrUntrusted), a.pinned
	}
	if d := a.desired; d != nil {
		now.LastGood, now.Expires = d.Taken, d.Snapshot.Expires
	}
	generations(&now, a.desired, out)
	return now
}

// silentAfter is after how many intervals without an answer a store counts as silent.
const silentAfter = 3

// silentSince returns since when the store was not read. It returns zero where that is not long, or
// where the store answers and its documents are the problem.
func (s *nodeStatus) silentSince(away bool) time.Time {
	since := s.now.Configuration.Checked
	if since.IsZero() {
		since = s.begun
	}
	if !away || time.Since(since) < silentAfter*s.interval {
		return time.Time{}
	}
	return since
}

// certificates returns the state of the node's certificates. Where one cannot be read, `agent
// certs` and the pass that needs it report why.
func (s *nodeStatus) certificates() []report.Certificate {
	list, err := issue.List(s.host, s.node, time.Now())
	if err != nil {
		s.log.Warn("the certificates cannot be listed", zap.Error(err))
		return nil
	}
	out := make([]report.Certificate, len(list))
	for i := range list {
		c := &list[i]
		out[i] = report.Certificate{Name: c.Name, CA: c.CA, State: string(c.State), NotAfter: c.NotAfter,
			RenewAt: c.RenewAt, Problem: c.Problem}
	}
	return out
}

// count adds the changes and repairs of a pass to the totals by kind.
func (s *nodeStatus) count(p *report.Plan) (changed, repaired int) {
	if p == nil {
		return 0, 0
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.State != report.Done && !(step.State == report.Contested && step.Repair) {
			continue
		}
		kind := s.kind(graph.Key(step.Key).Kind())
		if step.Repair {
			repaired++
			kind.Repaired++
		} else {
			changed++
			kind.Changed++
		}
	}
	return changed, repaired
}

func (s *nodeStatus) kind(name string) *report.KindStatus {
	if s.counts[name] == nil {
		s.counts[name] = &report.KindStatus{Kind: name}
	}
	return s.counts[name]
}

// logPause logs that a pause began, changed or ended, whether a command or its own end ended it.
func (s *nodeStatus) logPause(now *report.Paused) {
	switch was := s.now.Paused; {
	case now != nil && (was == nil || *was != *now):
		s.log.Warn("paused: nothing is changed on this node", zap.Time("until", now.Until),
			zap.String("by", now.By), zap.String("reason", now.Reason))
	case now == nil && was != nil:
		s.log.Info("the pause is over", zap.Time("until", was.Until), zap.String("by", was.By),
			zap.String("reason", was.Reason))
	}
}
