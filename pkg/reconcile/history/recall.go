package history

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// Recall adds the outcome of earlier changes to a plan, for the status of the node. It skips what
// it cannot read, because another reader reports that. It does nothing if the plan is nil.
func Recall(out *report.Plan, r hostfs.Files, led *ledger.Ledger) {
	if out == nil {
		return
	}
	if a := firstboot.Summary(r); a != nil {
		out.AwaitingBoot, out.AwaitingBootSince = a.Names(), a.Since
	}
	out.Proof = &report.Proof{Missing: probe.Unmade()}
	if p := led.Head().Proof; !p.At.IsZero() {
		out.Proof = &report.Proof{At: p.At, Generation: p.Generation, By: split(p.By), Missing: split(p.Missing)}
	}
	if number, digest, until := checkpoint.Watched(r); !until.IsZero() {
		out.Watched = &report.Watched{Generation: number, Digest: digest, Until: until}
	}
	out.Undone = LastUndone(r)
}

// split splits a list that is separated by commas.
func split(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
}

// LastUndone returns the last undone change of each cause, newest first. A change is undone by a
// checkpoint, because a unit did not start, because nobody confirmed it, or because a boot failed
// with it.
func LastUndone(r ledger.Reader) []report.Undone {
	last := map[report.UndoneCause]report.Undone{}
	note := func(cause report.UndoneCause, at time.Time, number int64, digest, why string) {
		last[cause] = report.Undone{At: at, Cause: cause, Generation: number, Digest: digest, Why: why}
	}
	undone, _ := ledger.ReadUndone(r)
	for _, u := range undone {
		cause := report.UndoneFailed
		if u.Unconfirmed {
			cause = report.UndoneUnconfirmed
		}
		note(cause, u.Time, u.Generation, u.Digest, u.Why)
	}
	boots, _ := ledger.ReadBoots(r)
	for _, b := range boots {
		if len(b.Names) > 0 && b.Outcome != string(firstboot.Confirmed) { // an image has nothing to undo
			note(report.UndoneBoot, b.Time, b.Generation, b.Digest, b.Why)
		}
	}
	return slices.SortedStableFunc(maps.Values(last), func(a, b report.Undone) int { return b.At.Compare(a.At) })
}
