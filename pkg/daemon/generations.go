package daemon

import (
	"errors"
	"time"

	"go.uber.org/zap"

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
