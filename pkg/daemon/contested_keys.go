package daemon

import (
	"maps"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/report"
)

// contestedKeys are the keys that pods depend on and that another program keeps changing. The
// daemon reports such a key as contested also between a repair and the other program's next change,
// while its value is right.
type contestedKeys map[string]contestedKey

type contestedKey struct {
	step report.Step
	seen time.Time // when a pass last found the key contested, or repaired it
}

// update records the contested keys of a pass's plan. It adds to the plan each earlier contested
// key whose conflict is not over: see [drift.PodsOver].
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
