package daemon

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// health logs a problem when it begins, when it changes and when it is over, and not at every pass
// in between.
type health struct {
	log  *zap.Logger
	said map[string]string // the text that was logged last, by key
	away map[string]bool   // the errors that were logged since the store stopped answering
}

// store logs why there are no newer documents, and which ones the node uses instead. A nil error
// means that the last look was fine.
func (h *health) store(err error, d *desired.State) {
	const key = "the configuration"
	if h.away == nil || !graph.IsTransient(err) {
		h.away = map[string]bool{}
	}
	if err == nil {
		delete(h.said, theLastGood)
		h.over(key)
		return
	}
	goingOn := "nothing"
	if d != nil {
		goingOn, h.said[theLastGood] = d.Effective(), d.Instead
	}
	words := report.Stable(err.Error())
	if news := h.news(key, err.Error()); !news || h.away[words] { // an outage gives several errors in turn
		return
	}
	h.away[words] = true
	var documents *desired.DocumentError
	if !errors.As(err, &documents) {
		h.log.Error("the configuration could not be loaded", zap.Error(err), zap.String("going on with", goingOn))
		return
	}
	h.log.Error("the documents have errors and are not used", zap.String("store", documents.Store),
		zap.String("going on with", goingOn))
	for _, d := range documents.Diagnostics {
		if d.Severity == document.SeverityError {
			h.log.Error(d.Origin.String()+": "+d.Summary, zap.String("expected", d.Expected),
				zap.String("hint", d.Hint))
		}
	}
}

// Keys of said. thePass has the error of a pass itself. theLastGood has the note that the store
// cannot be used, which store has logged as an error already.
const (
	thePass     = "the pass"
	theLastGood = "the last good configuration"
)

// pass logs an error of a pass itself, not one of its tasks.
func (h *health) pass(err error) {
	switch {
	case err == nil || changes.IsRunError(err):
		h.over(thePass)
	case h.news(thePass, err.Error()):
		h.log.Error("the pass failed", zap.Error(err))
	}
}

// service logs that the container runtime or kubelet stopped working, or works again.
func (h *health) service(s report.Service) {
	switch key := "the service " + s.Name; {
	case s.Works:
		h.over(key)
	case h.news(key, s.Text):
		h.log.Error("does not work", zap.String("key", s.Unit), zap.String("error", s.Text))
	}
}

// levels maps the level of a note to the log's.
var levels = map[string]zapcore.Level{"info": zap.InfoLevel, "warning": zap.WarnLevel, "error": zap.ErrorLevel}

// plan logs the tasks that fail, wait, drift or are contested, and the notes of the plan. It leaves
// out tasks that only wait for such a task: they go on when that one does.
func (h *health) plan(plan *report.Plan) {
	if plan == nil {
		return
	}
	now := map[string]bool{}
	for s := range plan.In(report.Failed, report.Waits, report.Contested, report.Drifted) {
		if s.Because != "" {
			continue
		}
		now[s.Key] = true
		if !h.news(s.Key, string(s.State)+s.Message) {
			continue
		}
		switch s.State {
		case report.Failed:
			h.log.Error("failed", zap.String("key", s.Key), zap.String("error", s.Message),
				zap.String("origin", s.Origin))
		case report.Contested, report.Drifted:
			h.log.Warn(string(s.State), zap.String("key", s.Key), zap.String("reason", s.Message),
				zap.String("writer", s.Writer), zap.Int("repairs", s.Count))
		default:
			h.log.Info("waiting", zap.String("key", s.Key),
				zap.String("for", strings.TrimPrefix(s.Message, "waiting for ")))
		}
	}
	for _, n := range plan.Notes {
		if n.Text == h.said[thePass] || n.Text == h.said[theLastGood] {
			continue // logged already
		}
		key := "note: " + n.Origin + " " + report.Stable(n.Text)
		if now[key] = true; h.news(key, n.Text) {
			h.log.Log(levels[n.Level], n.Text, zap.String("origin", n.Origin))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(h.said)) {
		if !now[key] && !strings.HasPrefix(key, "the ") {
			h.over(key)
		}
	}
}

// news records the text of a problem and reports whether it is new or has changed.
func (h *health) news(key, text string) bool {
	was, ok := h.said[key]
	h.said[key] = text
	return !ok || was != text && report.Stable(was) != report.Stable(text)
}

func (h *health) over(key string) {
	if _, was := h.said[key]; !was {
		return
	}
	delete(h.said, key)
	if !strings.HasPrefix(key, "note: ") {
		h.log.Info("right again", zap.String("key", key))
	}
}
