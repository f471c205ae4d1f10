package daemon

import (
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

// phases records when each phase of a pass began.
type phases struct {
	began   time.Time
	look    *report.Phase // the look before the pass, which is no part of its time; nil: there was none
	entries []mark
}

type mark struct {
	name string
	at   time.Time
}

func newPhases(got *looked) *phases {
	p := &phases{began: time.Now()}
	if got != nil {
		p.look = &report.Phase{Name: "load", Took: report.SecondsOf(got.took)}
	}
	return p
}

// enter ends the current phase and begins another one.
func (p *phases) enter(name string) { p.entries = append(p.entries, mark{name, time.Now()}) }

// list returns each phase once, in the order in which the pass first entered them. The last phase
// ends now.
func (p *phases) list() []report.Phase {
	out := make([]report.Phase, 0, len(p.entries)+1)
	if p.look != nil {
		out = append(out, *p.look)
	}
	for i, m := range p.entries {
		end := time.Now()
		if i+1 < len(p.entries) {
			end = p.entries[i+1].at
		}
		took := report.SecondsOf(end.Sub(m.at))
		if j := slices.IndexFunc(out, func(p report.Phase) bool { return p.Name == m.name }); j >= 0 {
			out[j].Took += took
			continue
		}
		out = append(out, report.Phase{Name: m.name, Took: took})
	}
	return out
}
