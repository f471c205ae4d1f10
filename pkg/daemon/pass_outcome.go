package daemon

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// outcome is the result of a pass.
type outcome struct {
	plan *report.Plan // nil: there was no plan
	load error        // why there are no newer documents
	err  error        // of the pass
	said string       // the answer of a command that has no plan
}

// status returns the outcome in one line, for `systemctl status`, with what is wrong first.
func (o outcome) status(desired *desired.State) string {
	var parts []string
	if o.load != nil && desired != nil {
		parts = append(parts,
			fmt.Sprintf("going on with %s, since there is no newer one: %s", desired.Effective(), short(o.load)))
	} else if o.load != nil {
		parts = append(parts, "not converged: "+short(o.load))
	}
	if o.plan == nil {
		if o.err != nil {
			parts = append(parts, "not converged: "+short(o.err))
		}
		return strings.Join(parts, "; ")
	}
	s := o.plan.Summary
	if o.err != nil && !changes.IsRunError(o.err) {
		parts = append(parts, "not converged: "+short(o.err))
	}
	if s.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed: %s", s.Failed, short(o.err)))
	}
	line := fmt.Sprintf("%s: %d of %d right, %d changed now", o.plan.Network, s.Right, s.Tasks-s.NotApplicable,
		s.Changes())
	if s.Waiting > 0 {
		line += fmt.Sprintf(", %d waiting", s.Waiting)
	}
	if a := o.plan.Awaits; a != nil {
		parts = append(parts, a.String())
	}
	if z := o.plan.Paused; z != nil {
		parts = append(parts, z.String())
	}
	if w := o.plan.Waiting; w != nil {
		line += fmt.Sprintf(", %s waits", generation.Name(w.Generation, w.Digest))
	}
	if o.plan.Pinned != "" {
		line += ", " + o.plan.Pinned
	}
	return strings.Join(append(parts, line), "; ")
}

// short returns an error's text on one line of bounded length.
func short(err error) string {
	const most = 240
	text := []rune(desired.OneLine(err))
	if len(text) > most {
		return string(text[:most]) + " …"
	}
	return string(text)
}
