package daemon

import (
	"errors"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
)

func generationOf(r statestore.Revision, at time.Time) *report.Generation {
	return &report.Generation{Number: r.Generation, Digest: r.Digest, At: at}
}

// generations updates which configuration is published, wanted and applied.
func generations(now *report.Configuration, d *desired.State, out outcome) {
	was := now.Applied
	var documents *desired.DocumentError
	if errors.As(out.load, &documents) {
		now.Published = generationOf(documents.Revision, documents.Published)
		now.Published.By = documents.By
	}
	if d != nil {
		s := d.Snapshot
		now.Wanted = generationOf(s.Revision, time.Time{})
		if documents == nil {
			now.Published = generationOf(s.Revision, s.Published)
			now.Published.By = s.Note.String()
		}
	}
	if p := out.plan; p != nil {
		if p.Pinned != "" || p.Waiting != nil {
			now.Wanted = &report.Generation{Number: p.Generation, Digest: p.Digest}
		}
		if p.Applied != nil {
			now.Applied = p.Applied
		}
	}
	if a := now.Applied; a != nil {
		now.Generation, now.Digest = a.Number, a.Digest
		if !a.Is(was) {
			now.Since = time.Now()
		}
	}
}
