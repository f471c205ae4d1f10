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

// failedBoots returns the tasks that are not made, by their first key, because a boot with them
// failed. They are refused only while all that was new at that boot is still wanted: nobody knows
// which part of it was bad, so the rest is made again once one part is no longer wanted. Removals
// count too. It returns an error if the record of the boots cannot be read now.
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
		// The clock may have been set back, because many machines boot with a wrong one. Without
		// this check the change could then be held back for years.
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

// BootFailedError is the error of a change that a boot failed with. The change was taken back or is
// not made.
type BootFailedError struct{ ledger.Boot }

// retry returns when a change is made again of which it is unknown whether it was bad.
func (e *BootFailedError) retry() time.Time {
	return e.Time.Add(probation.Backoff(e.Tries))
}

// RefusedBy tells reports that a failed boot refuses the change.
func (e *BootFailedError) RefusedBy() report.Refusal { return report.RefusedByBoot }

func (e *BootFailedError) Error() string {
	text := fmt.Sprintf("the first boot with it failed (%s), and it was brought back", e.Why)
	if e.Outcome == string(firstboot.Unsure) {
		return fmt.Sprintf("%s; the node was not reached without the change either, so the change may not be "+
			"the cause; the agent makes it again after %s", text, report.Stamp(e.retry()))
	}
	return text + "; the agent makes it again when the documents change one of the keys of that boot: " +
		report.Listed(e.Names)
}
