package reconcile

import (
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/probation"
	"github.com/netwright/netwright/pkg/report"
)

// failedBoots says which tasks are not made, by their first key: a boot failed with them, and all
// that it failed with is wanted still. Nobody knows which of it was bad, so without one of it the
// others are made again. Removals count too. The error is that it cannot be read now.
func failedBoots(set *desired.Records, v host.View, now time.Time) (map[graph.Key]error, error) {
	out := map[graph.Key]error{}
	list, err := ledger.ReadBoots(v.Files)
	if host.Unread(err) {
		return nil, err
	}
	differs := func(k ledger.BootKey) bool {
		rec, wanted := set.Of(k.Key)
		return wanted != (k.Task != nil) || wanted && !rec.Same(*k.Task)
	}
	for _, b := range list {
		why := &BootFailedError{Boot: b}
		// A clock that was set back must not hold it for years: many a boot has none that is right.
		over := now.Before(b.Time) || !now.Before(why.retry())
		if b.Outcome == string(firstboot.Unsure) && over || slices.ContainsFunc(b.Keys, differs) {
			continue
		}
		for _, k := range b.Keys {
			out[k.Key] = graph.Permanent(why)
		}
	}
	return out, nil
}

// BootFailedError is a change that is not made, or was taken back, since a boot failed with it.
type BootFailedError struct{ ledger.Boot }

// retry is when a change of which nothing is known is made again.
func (e *BootFailedError) retry() time.Time {
	return e.Time.Add(probation.Backoff(e.Tries))
}

// RefusedBy tells reports what refuses it.
func (e *BootFailedError) RefusedBy() report.Refusal { return report.RefusedByBoot }

func (e *BootFailedError) Error() string {
	text := fmt.Sprintf("the first boot with it failed (%s), and it was brought back", e.Why)
	if e.Outcome == string(firstboot.Unsure) {
		return fmt.Sprintf("%s; the node was not reached without it either, so it may not have been the change; "+
			"it is made again after %s", text, report.Stamp(e.retry()))
	}
	return text + "; it is made again when the documents want something else of what that boot had: " +
		report.Listed(e.Names)
}
