package daemon

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
)

// kinds returns the counts of each kind of task after a pass.
func (s *nodeStatus) kinds(p *report.Plan) []report.KindStatus {
	all := map[string]*report.KindStatus{}
	for name, k := range s.counts {
		all[name] = &report.KindStatus{Kind: name, Repaired: k.Repaired, Changed: k.Changed}
	}
	for name, n := range p.Kinds {
		if all[name] == nil {
			all[name] = &report.KindStatus{Kind: name}
		}
		all[name].Tasks, all[name].Right = n, n
	}
	for i := range p.Steps {
		k := all[graph.Key(p.Steps[i].Key).Kind()]
		if state, counted := keyStates[p.Steps[i].State]; k != nil && counted { // an ignored key counts as right
			k.Right = max(k.Right-1, 0)
			*k.Count(state)++
		}
	}
	out := make([]report.KindStatus, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, *all[name])
	}
	return out
}

// keyStates maps the state of a step to the state of its key; a step that is not in it is not
// published.
var keyStates = map[report.State]report.KeyState{
	report.Failed: report.KeyFailing, report.Planned: report.KeyFailing, report.Waits: report.KeyWaiting,
	report.Skipped: report.KeySkipped, report.Stopped: report.KeySkipped,
	report.NotApplicable: report.KeyNotApplicable, report.Contested: report.KeyContested,
	report.Drifted: report.KeyDrifted,
}

// keysOf returns the keys of a pass that are not simply right, sorted by name. A key whose state
// has not changed keeps the Since of the status before.
func keysOf(p *report.Plan, before []report.KeyStatus, now time.Time) []report.KeyStatus {
	since := map[string]report.KeyStatus{}
	for _, k := range before {
		since[k.Key] = k
	}
	told := map[string]report.KeyStatus{}
	for i := range p.Steps {
		step := &p.Steps[i]
		state, tell := keyStates[step.State]
		if step.State == report.Done && step.Repair {
			state, tell = report.KeyRepaired, true
		}
		if !tell {
			continue
		}
		k := report.KeyStatus{Key: step.Key, State: state, Since: now, Text: cmp.Or(step.Message, step.Wrong()),
			Origin: step.Origin, Because: step.Because, Count: step.Count, Writer: step.Writer, Refused: step.Refused}
		if k.Pods = step.Pods && slices.Contains(lostStates, state); k.Pods {
			k.Means = step.Means
		}
		if was, known := since[k.Key]; known && was.State == k.State && state != report.KeyRepaired {
			k.Since = was.Since
		}
		told[k.Key] = k
	}
	out := slices.AppendSeq([]report.KeyStatus{}, maps.Values(told)) // JSON needs a list, also where it is empty
	slices.SortFunc(out, func(a, b report.KeyStatus) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// lostStates are the states in which a key that pods depend on is wrong, or may be wrong again
// soon. Of the keys that wait, a step names pods only where the key waits for its next repair.
var lostStates = []report.KeyState{report.KeyContested, report.KeyFailing, report.KeyDrifted, report.KeySkipped,
	report.KeyWaiting}

// stateOf returns the node's state and its reason by the states of its keys.
func stateOf(keys []report.KeyStatus, sum report.Summary) (report.NodeState, string) {
	for i := range keys {
		if keys[i].Pods {
			return report.NodeCritical, strings.TrimSuffix(keys[i].Key+": "+keys[i].Means, ": ") + ": " + keys[i].Text
		}
	}
	for _, s := range []struct {
		key  report.KeyState
		node report.NodeState
	}{
		{report.KeyFailing, report.NodeFailing}, {report.KeyContested, report.NodeContested},
		{report.KeyDrifted, report.NodeDrifted}, {report.KeyWaiting, report.NodeWaiting},
	} {
		for i := range keys {
			if keys[i].State == s.key && keys[i].Because == "" {
				return s.node, keys[i].Key + ": " + keys[i].Text
			}
		}
	}
	if sum.Skipped > 0 {
		return report.NodeWaiting, "" // a note says what is held back
	}
	return report.NodeConverged, ""
}
