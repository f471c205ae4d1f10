package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// pruning is what of the ledger nobody wants any more.
type pruning struct {
	sw    *switching
	graph *graph.Graph[tasks.Task] // of tasks.Removal; nil when there is nothing to remove
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
	if c.inStep() || c.led.Unreadable {
		return p, c.arrangeOwed(p)
	}
	var list []tasks.Removal
	for _, key := range slices.Sorted(maps.Keys(c.led.Entries())) {
		e := c.led.Entries()[key]
		if e.Released || c.wants(e) {
			continue
		}
		if err := p.sort(ctx, v, c, e, &list); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return p, c.arrangeOwed(p)
	}
	return p, p.arrange(c, v, list, c.owed())
}

// owed are the effects that are owed and that no wanted task asks for: those of removals that were interrupted.
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
func (c *custody) arrangeOwed(p *pruning) error {
	list := c.owed()
	if len(list)+len(p.sw.tail()) == 0 {
		return nil
	}
	var err error
	p.graph, err = lay(list, p.sw.tail())
	if err != nil {
		return fmt.Errorf("order what is owed: %w", err)
	}
	return nil
}

// sort decides what becomes of one entry that nobody wants.
func (p *pruning) sort(ctx context.Context, v host.View, c *custody, e ledger.Entry, list *[]tasks.Removal) error {
	t, err := rebuildEntry(v, e)
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
	holds, err := c.holds(ctx, v, e.Key)
	if err != nil {
		return fmt.Errorf("look at %s, which nobody wants any more: %w", e.Key, err)
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
	link, known := c.led.Entries()[tasks.LinkKey(host.SysctlLink(key.Name()))]
	return known && link.Mode == ledger.Owned && !link.Released && !c.wants(link)
}

// leftBy says that a change which nothing says the end of has ended as it was meant: then what is there is ours. Only
// of paths it is asked, for they change in one step; of the kernel's objects, a half is ours too.
func (c *custody) leftBy(ctx context.Context, v host.View, e ledger.Entry) bool {
	if !e.Pending {
		return false
	}
	if e.Key.Kind() != tasks.KindFile || e.Parent {
		return true
	}
	if e.Of != "" {
		e.Task = c.led.Entries()[e.Of].Task
	}
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
	return tasks.Rebuild(*e.Task, func(sum host.Digest) ([]byte, error) { return ledger.Blob(r, sum) })
}

// arrange makes a graph of the removals. Effects are what is owed besides.
func (p *pruning) arrange(c *custody, v host.View, list []tasks.Removal, effects []tasks.Task) error {
	p.order(c, v, list)
	var err error
	p.graph, err = arrangeGone(list, effects, p.sw.tail()...)
	return err
}

// arrangeGone makes a graph of removals that were ordered, or of some of them, and of what comes last.
func arrangeGone(list []tasks.Removal, effects []tasks.Task, last ...tasks.Task) (*graph.Graph[tasks.Task], error) {
	all := make([]tasks.Task, 0, len(list))
	for i := range list {
		all = append(all, list[i])
	}
	g, err := lay(append(all, withEffects(effects, all)...), last)
	if err != nil {
		return nil, fmt.Errorf("order what nobody wants any more: %w", err)
	}
	return g, nil
}

// order orders the removals: what needed others goes before them, a path before its directory.
func (p *pruning) order(c *custody, v host.View, list []tasks.Removal) {
	at := map[graph.Key]int{}
	for i := range list {
		at[list[i].Key] = i
	}
	p.guard(c, v, list)
	for i := range list {
		key := list[i].Key
		needs := c.led.Entries()[key].Needs
		if key.Kind() == tasks.KindMount { // its unit's file, and the directory that it is mounted on
			needs = append(needs[:len(needs):len(needs)], tasks.FileKey(key.Name()))
			for other := range at {
				if c.led.Entries()[other].Of == key {
					needs = append(needs, other)
				}
			}
		}
		if up, ok := graph.PathParent(key); ok && key.Kind() == tasks.KindFile {
			for ; ok; up, ok = graph.PathParent(up) {
				needs = append(needs[:len(needs):len(needs)], up)
			}
		}
		for _, need := range needs {
			if j, ok := at[need]; ok && j != i {
				list[j].After = append(list[j].After, key)
			}
		}
	}
}

// lay makes the graph of what goes, with what a switch does when all of it is gone.
func lay(list, last []tasks.Task) (*graph.Graph[tasks.Task], error) {
	var keys []graph.Key
	for _, t := range list {
		keys = append(keys, t.Owns()...)
	}
	after := map[graph.Key][]graph.Key{}
	for _, t := range last {
		after[t.Owns()[0]] = keys
	}
	return graph.New(append(list, last...), graph.Options{After: func(k graph.Key) []graph.Key { return after[k] }})
}

// guard says what must not be broken by the removals: pods on a bridge, a CNI directory without a conf.
func (p *pruning) guard(c *custody, v host.View, list []tasks.Removal) {
	var links []string
	confs := map[string][]string{}
	for _, r := range list {
		if r.Key.Kind() == tasks.KindLink {
			links = append(links, r.Key.Name())
		}
		if isConf(v, r.Key) {
			dir := path.Dir(r.Key.Name())
			confs[dir] = append(confs[dir], path.Base(r.Key.Name()))
			p.gone = append(p.gone, host.Fact{Key: string(r.Key), Gone: true})
		}
	}
	if p.sw.begins() {
		return // no pod lives by the time
	}
	for i := range list {
		switch list[i].Key.Kind() {
		case tasks.KindLink, tasks.KindAddr, tasks.KindRoute, tasks.KindRule, tasks.KindTable, tasks.KindForward:
			list[i].Links = links
		case tasks.KindFile:
			if dir := path.Dir(list[i].Key.Name()); isConf(v, list[i].Key) {
				coming := false
				for key := range c.keys() {
					coming = coming || isConf(v, key) && path.Dir(key.Name()) == dir
				}
				list[i].Confs = &tasks.ConfGuard{Dir: dir, Going: confs[dir], Coming: coming}
			}
		}
	}
}

// isConf says that a key is a file that a runtime takes for a CNI conf.
func isConf(v host.View, key graph.Key) bool {
	if key.Kind() != tasks.KindFile {
		return false
	}
	switch path.Ext(key.Name()) {
	case ".conf", ".conflist", ".json":
	default:
		return false
	}
	dir := path.Dir(key.Name())
	return dir == "/etc/cni/net.d" || dir == v.Facts().Runtime.ConfDir
}

// withEffects adds to effects those that tasks ask for.
func withEffects(effects, list []tasks.Task) []tasks.Task {
	for _, t := range effectsOf(list) {
		if !slices.ContainsFunc(effects, func(e tasks.Task) bool { return e.Owns()[0] == t.Owns()[0] }) {
			effects = append(effects, t)
		}
	}
	return effects
}

// effectsOf are the effects that tasks ask for.
func effectsOf(list []tasks.Task) []tasks.Task {
	seen := map[graph.Key]bool{}
	var out []tasks.Task
	for _, t := range list {
		for _, key := range t.Asks() {
			if !seen[key] {
				seen[key] = true
				out = append(out, tasks.EffectOf(key))
			}
		}
	}
	return out
}
