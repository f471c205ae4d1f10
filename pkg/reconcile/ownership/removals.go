package ownership

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
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Removals are the keys of the ledger that nobody wants any more.
type Removals struct {
	switches bool                // the pass makes a switch of networks
	last     []tasks.Task        // tasks that a switch does when all of this is removed
	Graph    *tasks.Graph        // of tasks.Removal and tasks.Restoration; nil when there is nothing to remove
	back     []tasks.Restoration // what is restored
	// released has the entries of keys that stay on the host and are no longer managed.
	released []ledger.Entry
	dropped  []graph.Key // keys that are no longer on the host
	Notes    []report.Note
	// Gone has the CNI confs that will be removed. Tasks that look for confs must ignore them.
	Gone []host.Fact
}

// Prune decides about each key that nobody wants any more. It reads the host and changes nothing.
// switches means that the pass makes a switch of networks. last has the tasks that the switch does
// when all of this is removed.
func (c *Transaction) Prune(ctx context.Context, v host.View, switches bool, last []tasks.Task) (*Removals, error) {
	p := &Removals{switches: switches, last: last}
	if c.InStep() && c.PinnedAt == 0 || c.Led.Unreadable {
		return p, c.arrangeEffects(v, p)
	}
	var list []tasks.Removal
	wanted := sameFile(c.Set, v.Files)
	for _, key := range slices.Sorted(maps.Keys(c.Led.Entries())) {
		e := c.Led.Entries()[key]
		if wants(c.Set, e) || e.Released && !c.takenLater(v.Files, e) {
			continue
		}
		if other := wanted(key); other != "" {
			p.release(e, "info", fmt.Sprintf("%s is no longer wanted and stays: on this host it is the same file as %s", key, other))
			continue
		}
		if err := p.sort(ctx, v, c, e, &list); err != nil { // the next pass looks again
			p.Notes = append(p.Notes, report.Note{Level: "warning", Origin: originOf(e), Text: err.Error()})
		}
	}
	if len(list)+len(p.back) == 0 {
		return p, c.arrangeEffects(v, p)
	}
	return p, p.arrange(c, v, list, c.PendingEffects())
}

// sameFile returns a function that returns the wanted key which is the same file as a key; "": none
// is.
func sameFile(set *desired.Records, files hostfs.Files) func(graph.Key) graph.Key {
	at, wanted := changes.NewIdentities(files), map[string]graph.Key(nil)
	return func(key graph.Key) graph.Key {
		if key.Kind() != tasks.KindFile {
			return ""
		}
		if wanted == nil {
			wanted = map[string]graph.Key{}
			for _, k := range set.Keys() {
				if k.Kind() == tasks.KindFile {
					wanted[at.Of(k)] = k
				}
			}
		}
		return wanted[at.Of(key)]
	}
}

// PendingEffects returns the pending effects that no wanted task asks for. They are effects of
// removals that were interrupted.
func (c *Transaction) PendingEffects() []tasks.Task {
	var out []tasks.Task
	for _, effect := range slices.Sorted(maps.Keys(c.Led.Effects.List())) {
		if key := graph.Key(effect); !c.Set.Wants(key) && key.Kind() == tasks.KindEffect {
			out = append(out, tasks.EffectOf(key))
		}
	}
	return out
}

// arrangeEffects makes a graph of pending effects only, if there are any.
func (c *Transaction) arrangeEffects(v host.View, p *Removals) error {
	list := c.PendingEffects()
	if len(list)+len(p.last) == 0 {
		return nil
	}
	var err error
	p.Graph, err = Lay(v, list, p.last)
	if err != nil {
		return fmt.Errorf("order the pending effects: %w", err)
	}
	return nil
}

// sort decides what happens to one entry that nobody wants.
func (p *Removals) sort(ctx context.Context, v host.View, c *Transaction, e ledger.Entry, list *[]tasks.Removal) error {
	t, err := e.Rebuild(v.Files)
	if err != nil && e.Released {
		return nil // the user was told when it was released
	}
	if err != nil {
		p.release(e, "warning", fmt.Sprintf("%s stays: %v", e.Key, err))
		return nil
	}
	k := tasks.StateReaderOf(t, e.Key)
	if k == nil {
		p.release(e, "info", fmt.Sprintf("%s stays as it is: it cannot be removed", e.Key))
		return nil
	}
	live, err := k.Live(ctx, v)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		return nil
	case err != nil:
		return fmt.Errorf("look at %s, which is no longer wanted: %w", e.Key, err)
	}
	holds, err := UsedBy(ctx, v, c.Led, k)
	if err != nil {
		return fmt.Errorf("look at %s, which is no longer wanted: %w", e.Key, err)
	}
	if done, err := p.giveBack(ctx, v, c, e, k, live); done || err != nil {
		return err
	}
	remover, removable := k.(tasks.Remover)
	switch {
	case live == "" && (e.Baseline == nil || !removable || e.Mode != ledger.Found), c.goesAlong(e.Key):
		p.dropped = append(p.dropped, e.Key)
	case e.Mode == ledger.Retained:
		p.release(e, "info", fmt.Sprintf("%s is no longer wanted and stays: pods of a former network may "+
			"still need it, and its removal would cut them off; remove it by hand when no pod needs it", e.Key))
	case e.Mode == ledger.Found && removable:
		p.release(e, "info", fmt.Sprintf("%s is no longer wanted and stays: it was there before netwright", e.Key))
	case !removable:
		p.release(e, "info",
			fmt.Sprintf("%s is no longer wanted and stays as it is (%s): others may rely on it", e.Key, live))
	case c.Changed != "" && Unmanaged(e, k, live):
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: %s", e.Key, NotOurs))
	case c.Changed == "" && c.Altered(ctx, v, e, live):
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: somebody changed it since netwright "+
			"wrote it; remove it by hand if it is not needed (spec.prune.changed: remove does so from the start)",
			e.Key))
	case extras.Reserved(e.Key.Kind(), e.Key.Name(), nil) != "" && !e.Parent:
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: it is %s, and the node may need it; "+
			"remove it by hand if it does not", e.Key, extras.Reserved(e.Key.Kind(), e.Key.Name(), nil)))
	case holds != "":
		e.Mode = ledger.Found
		p.release(e, "warning", fmt.Sprintf("%s is no longer wanted and stays: %s", e.Key, holds))
	default:
		*list = append(*list, tasks.Removal{
			Meta: MetaOf(e), Key: e.Key, Remover: remover, Last: live, Changed: c.Changed.Reason(c.Altered(ctx, v, e, live)),
		})
	}
	return nil
}

// goesAlong reports whether a key is a sysctl of a link that the agent owns and removes.
func (c *Transaction) goesAlong(key graph.Key) bool {
	if key.Kind() != tasks.KindSysctl {
		return false
	}
	link, known := c.Led.Entries()[tasks.LinkKey(kernel.SysctlLink(key.Name()))]
	return known && link.Mode == ledger.Owned && !link.Released && !wants(c.Set, link)
}

func (p *Removals) release(e ledger.Entry, level, text string) {
	e.Released, e.Pending = true, false
	p.released = append(p.released, e)
	p.Notes = append(p.Notes, report.Note{Level: level, Origin: originOf(e), Text: text})
}

// originOf returns where the documents had the task of an entry, or "" if that is not known.
func originOf(e ledger.Entry) string {
	if e.Task == nil {
		return ""
	}
	return e.Task.From
}

// MetaOf returns the origin and the effects of an entry for its removal or restore. Both request a
// daemon-reload where they need one.
func MetaOf(e ledger.Entry) tasks.Meta {
	return tasks.Meta{From: originOf(e), Effects: slices.DeleteFunc(slices.Clone(e.Effects),
		func(k graph.Key) bool { return k == tasks.DaemonReload })}
}
