package daemon

import (
	"maps"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/report"
)

// contestedKeys are the keys that pods stand on and that somebody else keeps writing, as the daemon
// tells them: between a repair and the next change of the other the key is right, and contested all
// the same.
type contestedKeys map[string]contestedKey

type contestedKey struct {
	step report.Step
	seen time.Time // when it was changed, or repaired, last
}

// update takes the contested keys of a pass down, and puts those into its plan that are not over.
func (q contestedKeys) update(p *report.Plan, now time.Time) {
	if p == nil {
		return
	}
	for i := range p.Steps {
		s := p.Steps[i]
		delete(q, s.Key)
		if s.Pods && s.State == report.Contested {
			s.Repair, s.Items = false, nil
			q[s.Key] = contestedKey{s, now}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(q)) {
		over := q[key].seen.Add(drift.PodsOver)
		switch {
		case q[key].seen.Equal(now):
		case !now.Before(over):
			delete(q, key)
			continue
		default:
			p.Steps = append(p.Steps, q[key].step)
			p.Summary.Contested++
			p.Summary.Right = max(p.Summary.Right-1, 0)
		}
		p.Again = report.Sooner(p.Again, over)
	}
}
