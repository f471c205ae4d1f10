package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// pruning is what of the ledger nobody wants any more.
type pruning struct {
	sw    *switching
	graph *graph.Graph[tasks.Task] // of tasks.Removal and tasks.Restoration; nil when there is nothing to remove
	back  []tasks.Restoration      // what a rollback gives back
	// released stay on the host, and are no longer looked after.
	released []ledger.Entry
	dropped  []graph.Key // are not on the host any more
	notes    []report.Note
	// gone is what tasks that look around must not take into account: confs that go.
	gone []host.Fact
}

// prune sorts out what nobody wants any more. It reads the host and changes nothing.
func (c *custody) prune(ctx context.Context, v host.View, sw *switching) (*pruning, error) {
	p := &pruning{sw: sw}
	if c.inStep() && c.held == 0 || c.led.Unreadable {
		return p, c.arrangeOwed(v, p)
	}
	var list []tasks.Removal
	for _, key := range slices.Sorted(maps.Keys(c.led.Entries())) {
		e := c.led.Entries()[key]
		if c.wants(e) || e.Released && !c.takenLater(v, e) {
			continue
		}
		if err := p.sort(ctx, v, c, e, &list); err != nil { // the next pass looks again
			p.notes = append(p.notes, report.Note{Level: "warning", Origin: originOf(e), Text: err.Error()})
		}
	}
	if len(list)+len(p.back) == 0 {
		return p, c.arrangeOwed(v, p)
	}
	return p, p.arrange(c, v, list, c.owed())
}

// owed are the effects that are owed and that no wanted task asks for: those of removals that were
// interrupted.
func (c *custody) owed() []tasks.Task {
	var out []tasks.Task
	for _, effect := range slices.Sorted(maps.Keys(c.led.Owed())) {
		if key := graph.Key(effect); !c.wanted(key) && key.Kind() == tasks.KindEffect {
			out = append(out, tasks.EffectOf(key))
		}
	}
	return out
}

// arrangeOwed makes a graph of nothing but owed effects, if there are any.
func (c *custody) arrangeOwed(v host.View, p *pruning) error {
	list := c.owed()
	if len(list)+len(p.sw.tail()) == 0 {
		return nil
	}
	var err error
	p.graph, err = lay(v, list, p.sw.tail())
	if err != nil {
		return fmt.Errorf("order what is owed: %w", err)
	}
	return nil
}

// sort decides what becomes of one entry that nobody wants.
func (p *pruning) sort(ctx context.Context, v host.View, c *custody, e ledger.Entry, list *[]tasks.Removal) error {
	t, err := rebuildEntry(v, e)
	if err != nil && e.Released {
		return nil // it was said when it was let go of
	}
	if err != nil {
		p.release(e, "warning", fmt.Sprintf("%s stays: %v", e.Key, err))
		return nil
	}
	k := tasks.KeeperOf(t, e.Key)
	if k == nil {
		p.release(e, "info", fmt.Sprintf("%s stays as it is: it cannot be taken away", e.Key))
		return nil
	}
	live, err := k.Live(ctx, v)
	switch {
	case errors.Is(err, host.ErrNotHere):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s, which nobody wants any more: %w", e.Key, err)
	}
	holds, err := c.holds(ctx, v, k)
	if err != nil {
		return fmt.Errorf("look at %s, which nobody wants any more: %w", e.Key, err)
	}
	if done, err := p.giveBack(ctx, v, c, e, k, live); done || err != nil {
		return err
	}
	remover, removable := k.(tasks.Remover)
	switch {
	case live == "" && (e.Baseline == nil || !removable || e.Mode != ledger.Found), c.goesAlong(e.Key):
		p.dropped = append(p.dropped, e.Key)
	case e.Mode == ledger.Retained:
		p.release(e, "info", fmt.Sprintf("%s is no longer wanted and stays: a former network's pods may still run on it, and to take it away would be an outage; remove it by hand when nobody does", e.Key))
	case e.Mode == ledger.Found && removable:
		p.release(e, "info", fmt.Sprintf("%s is no longer wanted and stays: it was there before netwright", e.Key))
	case !removable:
		p.release(e, "info", fmt.Sprintf("%s is no longer wanted and stays as it is (%s): others may rely on it", e.Key, live))
	case c.changed != "" && foreign(e, k, live):
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: %s", e.Key, notOurs))
	case c.changed == "" && c.altered(ctx, v, e, live):
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: somebody changed it since netwright wrote it; remove it by hand if it is not needed (spec.prune.changed: remove does so from the start)", e.Key))
	case extras.Reserved(e.Key.Kind(), e.Key.Name(), nil) != "" && !e.Parent:
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: it is %s, and the node may need it; remove it by hand if it does not", e.Key, extras.Reserved(e.Key.Kind(), e.Key.Name(), nil)))
	case holds != "":
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: %s", e.Key, holds))
	default:
		*list = append(*list, tasks.Removal{
			Meta: tasks.Meta{From: originOf(e), Then: without(e.Asks, tasks.DaemonReload)},
			Key:  e.Key, Keeper: remover, Last: live, Changed: c.changed.reason(c.altered(ctx, v, e, live)),
		})
	}
	return nil
}

// goesAlong says that a key is a sysctl of a link of ours that goes.
func (c *custody) goesAlong(key graph.Key) bool {
	if key.Kind() != tasks.KindSysctl {
		return false
	}
	link, known := c.led.Entries()[tasks.LinkKey(kernel.SysctlLink(key.Name()))]
	return known && link.Mode == ledger.Owned && !link.Released && !c.wants(link)
}

// leftBy says that a change which nothing says the end of has ended as it was meant: then what is
// there is ours. Only of paths it is asked, for they change in one step; of the kernel's objects, a
// half is ours too.
func (c *custody) leftBy(ctx context.Context, v host.View, e ledger.Entry) bool {
	if !e.Pending {
		return false
	}
	if e.Key.Kind() != tasks.KindFile || e.Parent {
		return true
	}
	e.Task = c.taskOf(e)
	t, err := rebuildEntry(v, e)
	if err != nil || t == nil {
		return false
	}
	change, err := t.Plan(ctx, v)
	return err == nil && (change == nil || !slices.ContainsFunc(change.Items, func(it tasks.Item) bool { return it.Key == e.Key }))
}

func (p *pruning) release(e ledger.Entry, level, text string) {
	e.Released, e.Pending = true, false
	p.released = append(p.released, e)
	p.notes = append(p.notes, report.Note{Level: level, Origin: originOf(e), Text: text})
}

func originOf(e ledger.Entry) string {
	if e.Task == nil {
		return ""
	}
	return e.Task.From
}

func without(keys []graph.Key, drop graph.Key) []graph.Key {
	return slices.DeleteFunc(slices.Clone(keys), func(k graph.Key) bool { return k == drop })
}

// rebuildEntry makes an entry's task again; nil for keys that need none.
func rebuildEntry(r ledger.Reader, e ledger.Entry) (tasks.Task, error) {
	if e.Task == nil {
		return nil, nil
	}
	return tasks.Rebuild(*e.Task, func(sum hostfs.Digest) ([]byte, error) { return ledger.Blob(r, sum) })
}
