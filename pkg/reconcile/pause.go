package reconcile

import (
	"context"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// Pause has nothing changed on the node for a while: neither repairs nor new configurations. Passes
// look, and tell. It ends by itself, and by [Pass.Resume]. A second one takes the place of the
// first.
func (p Pass) Pause(ctx context.Context, d time.Duration, reason string) (*report.Paused, error) {
	switch {
	case d <= 0 || d > MaxPause:
		return nil, fmt.Errorf("pause for %s: expected up to %s, such as 30m: a pause ends by itself; for longer "+
			"switch the agent off (touch %s)", d, MaxPause, "/etc/netwright/disabled")
	case reason == "":
		return nil, fmt.Errorf("pause for %s: say why with --reason: whoever finds the node so shall know", d)
	}
	var out *report.Paused
	_, err := p.locked(ctx, func(h *host.Host, _ *ledger.Ledger) (*report.Plan, error) {
		now := ledger.ClockOf(h.Live.Files, time.Now().UTC())
		z := &ledger.Pause{Since: now.Now.Truncate(time.Second), For: d, Reason: reason, By: p.by(), Boot: now.Boot,
			Up: now.Up}
		out = pausedAs(z, now)
		if err := ledger.SavePause(ctx, h.Files, z); err != nil {
			return nil, err
		}
		p.note(ctx, h, ledger.Deed{Act: ledger.WasPaused, Text: fmt.Sprintf("for %s: %s", d, reason)})
		return nil, nil
	})
	return out, err
}

// Paused says until when nothing is changed on the node; nil: it is not paused.
func (p Pass) Paused() *report.Paused {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return nil
	}
	defer files.Close() // only read from
	return p.paused(files)
}

// lookOnly is the pass of a paused node: it says what is not as wanted, and leaves it. An undo of a
// change that cut the node off is not asked: it was done before.
func (p Pass) lookOnly(
	ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger, z *report.Paused,
) (*report.Plan, error) {
	if good := p.changes(d, h.Live.Files, led); good != nil {
		w := &report.Waiting{Generation: d.Snapshot.Generation, Digest: d.Snapshot.Digest,
			Reason: "the node is " + z.String(), Until: z.Until}
		var err error
		if d, err = p.inForce(ctx, d, good, w, h, led); err != nil {
			return nil, err
		}
	}
	if d != nil {
		d.Planned(h.Live.Files, p.mayIssue())
	}
	r, err := p.begin(ctx, d, h.Live.View(), led)
	if err != nil {
		return nil, err
	}
	plan := r.report(report.Planned)
	r.tell(p, plan, h.Live.View())
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.State == report.Planned {
			s.State, s.Message = report.Drifted, "not changed while the node is paused"
		}
	}
	plan.Finish(plan.Summary.Tasks)
	plan.Paused = z
	plan.Notes = append(plan.Notes,
		report.Note{Level: "warning", Text: "nothing is changed here: the node is " + z.String()})
	plan.Notes = append(plan.Notes, p.endsInPause(r.desired.Node.Name, z)...)
	return plan, nil
}

// endsInPause shouts for certificates that end while nothing is renewed, or soon after.
func (p Pass) endsInPause(node string, z *report.Paused) (notes []report.Note) {
	list, err := issue.List(p.Host, node, time.Now())
	if err != nil {
		return []report.Note{{Level: "warning",
			Text: fmt.Sprintf("which certificates end in the pause is not known: %v", err)}}
	}
	for i := range list {
		if c := &list[i]; !c.NotAfter.IsZero() && c.NotAfter.Before(z.Until.Add(time.Hour)) {
			notes = append(notes, report.Note{Level: "error",
				Text: fmt.Sprintf("the certificate %s ENDS on %s, and nothing is renewed while the node is paused: "+
					"`agent resume`", c.Name, issue.Date(c.NotAfter))})
		}
	}
	return notes
}
