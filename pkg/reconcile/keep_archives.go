package reconcile

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// keepArchives keeps what archives have put in place, where this pass found it right. That is for a
// daemon that has said READY: it has the time, and no one who asked for a single pass waits for a
// copy that he may never need. A node that cannot keep it is right all the same, and needs the
// archive's URL when somebody deletes a plugin: that is a note.
func (r *run) keepArchives(ctx context.Context, p Pass, h *host.Host, out *report.Plan) *report.Plan {
	if !p.Ready {
		return out
	}
	for i := range r.rep.Results {
		res := &r.rep.Results[i]
		a, ok := res.Node.(tasks.Archive)
		if !ok || res.State != graph.Done || r.changes.Get(a.Owns()[0]) != nil {
			continue
		}
		if err := a.Keep(ctx, h); err != nil && ctx.Err() == nil {
			out.Notes = append(out.Notes, report.Note{Level: "warning", Origin: a.Origin(),
				Text: err.Error() + "; what it installed is right, and is fetched again should somebody delete it"})
		}
	}
	return out
}
