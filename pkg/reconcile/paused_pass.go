package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// lookOnly is the pass of a paused node. It reports what is not as wanted, and changes nothing. A
// pause does not stop the undo of a change that cut the node off: the session made it before.
func (p Pass) lookOnly(
	ctx context.Context, d *desired.State, h *host.Host, led *ledger.Ledger, z *report.Paused,
) (*report.Plan, error) {
	if good := p.Rollout().Changes(ctx, d, h.Live.Files, led); good != nil {
		w := &report.Waiting{Generation: d.Snapshot.Generation, Digest: d.Snapshot.Digest,
			Reason: "the node is " + z.String(), Until: z.Until}
		var err error
		if d, err = p.Rollout().Effective(ctx, d, good, w, h, led); err != nil {
			return nil, err
		}
	}
	r, err := p.show(ctx, d, h.Live.View(), led)
	if err != nil {
		return nil, err
	}
	plan := r.report()
	r.annotate(p, plan, h.Live.View())
	plan.Leave(report.Drifted, "not changed while the node is paused")
	plan.Paused = z
	plan.Warn("nothing is changed here: the node is " + z.String())
	plan.Notes = append(plan.Notes, endsInPause(p.Host, r.desired.Node.Name, z)...)
	return plan, errors.Join(changes.Failure(r.wanted.Rep), r.unbuilt)
}

// endsInPause returns an error note for each certificate that ends before or within an hour after
// the end of the pause, because nothing is renewed meanwhile.
func endsInPause(at host.Options, node string, z *report.Paused) (notes []report.Note) {
	list, err := issue.List(at, node, time.Now())
	if err != nil {
		return []report.Note{report.Warning("it is not known which certificates expire during the pause: " + err.Error())}
	}
	for i := range list {
		if c := &list[i]; !c.NotAfter.IsZero() && c.NotAfter.Before(z.Until.Add(time.Hour)) {
			notes = append(notes, report.Note{Level: "error",
				Text: fmt.Sprintf("the certificate %s EXPIRES on %s, and no certificate is renewed while the "+
					"node is paused: run `agent resume` before", c.Name, issue.Date(c.NotAfter))})
		}
	}
	return notes
}
