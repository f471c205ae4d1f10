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
	next.Working, next.Prepared, next.Next = nil, a.ready, a.next
	next.Configuration = s.configuration(w, out, a)
	next.Totals.Passes++
	if out.load != nil || out.err != nil {
		next.Totals.Failed++
	}
	var undone *checkpoint.UndoneError
	at := out.plan.UndoneAfter(s.undone) // an undo by the watching process or a unit's probation counts, too
	if errors.As(out.err, &undone) || !at.IsZero() {
		next.Totals.Rollbacks++
	}
	if s.undone.Before(at) {
		s.undone = at
	}
	changed, repaired := s.count(out.plan)
	next.Totals.Changes, next.Totals.Repairs = next.Totals.Changes+int64(changed), next.Totals.Repairs+int64(repaired)
	next.Wakes = a.wakes
	next.Last = &report.LastPass{Cause: w.cause, Began: clock.began, Took: report.SecondsOf(time.Since(clock.began)),
		Phases: clock.list(), Changed: changed, Repairs: repaired}
	if out.err != nil {
		next.Last.Error = desired.OneLine(out.err)
	}
	if p := out.plan; p != nil {
		next.Node, next.Cluster, next.NodeGroup, next.Network = cmp.Or(p.Node, next.Node),
			cmp.Or(p.Cluster, next.Cluster), cmp.Or(p.NodeGroup, next.NodeGroup), p.Network
		next.Pinned, next.PendingEffects, next.Notes = p.Pinned, p.PendingEffects, p.Notes
		next.AwaitingBoot, next.AwaitingBootSince = p.AwaitingBoot, p.AwaitingBootSince
		next.Proof, next.Watched, next.Undone = p.Proof, p.Watched, p.Undone
		next.Keys = keysOf(p, next.Keys, time.Now())
		next.Kinds = s.kinds(p)
		next.State, next.Reason = stateOf(next.Keys, p.Summary)
		s.logPause(p.Paused)
		if next.Paused = p.Paused; p.Paused != nil &&
			(next.State == report.NodeConverged || next.State == report.NodeWaiting) {
			next.State, next.Reason = report.NodePaused, p.Paused.String()
		}
		if next.Waiting = p.Waiting; p.Waiting != nil && next.State == report.NodeConverged {
			next.State, next.Reason = report.NodeWaiting,
				generation.Name(p.Waiting.Generation, p.Waiting.Digest)+": "+p.Waiting.Reason
		}
		if next.Awaits = p.Awaits; p.Awaits != nil &&
			(next.State == report.NodeConverged || next.State == report.NodeWaiting) {
			next.State, next.Reason = report.NodeWaiting, p.Awaits.String()
		}
	}
	// Where no task failed, the pass itself did, for example because a full disk kept it from
	// writing the ledger. Then the state of the keys is not the reason.
	blameless := out.plan == nil || out.plan.Summary.Failed == 0
	why := cmp.Or(next.Last.Error, next.Configuration.Error)
	if next.Last.Error == "" && a.away && out.plan != nil {
		why = "" // an outage of the store is no fault of the node's network
	}
	if silent := next.Configuration.Silent; why == "" && !silent.IsZero() && next.State == report.NodeConverged {
		next.State, next.Reason = report.NodeSilent,
			fmt.Sprintf("the store was not read since %s: %s", report.Stamp(silent), next.Configuration.Error)
	}
	if why != "" && next.State != report.NodeCritical &&
		(next.State != report.NodeFailing || next.Reason == "" || blameless) {
		next.State, next.Reason = report.NodeFailing, why
	}
	s.state, s.reason = next.State, next.Reason
	next.State, next.Reason = withServices(s.state, s.reason, next.Services)
	if changed+repaired > 0 || time.Since(s.certs) > certsEvery {
		next.Certificates, s.certs = s.certificates(), time.Now()
	}
	s.publish(next, out.plan)
}

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
