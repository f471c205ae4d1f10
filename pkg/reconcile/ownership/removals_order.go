package ownership

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// arrange makes a graph of the removals. effects has the pending effects.
func (p *Removals) arrange(c *Transaction, v host.View, list []tasks.Removal, effects []tasks.Task) error {
	p.Order(c, v, list)
	var err error
	back := p.tasksBack(c)
	p.Graph, err = ArrangeGone(v, list, append(WithEffects(effects, back), back...), p.last...)
	return err
}

// ArrangeGone makes a graph of ordered removals, or of some of them. The tasks in last come at the
// end.
func ArrangeGone(
	v host.View, list []tasks.Removal, effects []tasks.Task, last ...tasks.Task,
) (*tasks.Graph, error) {
	all := make([]tasks.Task, 0, len(list))
	for i := range list {
		all = append(all, list[i])
	}
	g, err := Lay(v, append(all, WithEffects(effects, all)...), last)
	if err != nil {
		return nil, fmt.Errorf("order what is no longer wanted: %w", err)
	}
	return g, nil
}

// Order orders the removals: a key is removed before the keys that it needs, and a path before its
// directory.
func (p *Removals) Order(c *Transaction, v host.View, list []tasks.Removal) {
	at := map[graph.Key]int{}
	for i := range list {
		at[list[i].Key] = i
	}
	p.protect(c, v, list)
	for i := range list {
		key := list[i].Key
		above, rest := tasks.GoAfter(key)
		needs := slices.Concat(c.Led.Entries()[key].Needs, above)
		for other := range at {
			if rest && c.Led.Entries()[other].Of == key {
				needs = append(needs, other)
			}
		}
		for _, need := range needs {
			if j, ok := at[need]; ok && j != i {
				list[j].Requires = append(list[j].Requires, key)
			}
		}
	}
}

// Lay makes the graph of the removals in list. The tasks in last belong to a switch. They come
// after all removals that the switch needs.
func Lay(v host.View, list, last []tasks.Task) (*tasks.Graph, error) {
	var keys []graph.Key
	for _, t := range list {
		if Needed(v, t) {
			keys = append(keys, t.Owns()...)
		}
	}
	after := map[graph.Key][]graph.Key{}
	for _, t := range last {
		after[t.Owns()[0]] = keys
	}
	return graph.New(append(list, last...), tasks.AsNodes{},
		graph.Options{Requires: after})
}

// protect records what the removals must not break: pods on a bridge, and a CNI directory that
// would have no conf left.
func (p *Removals) protect(c *Transaction, v host.View, list []tasks.Removal) {
	var links []string
	confs := map[string][]string{}
	for _, r := range list {
		if r.Key.Kind() == tasks.KindLink {
			links = append(links, r.Key.Name())
		}
		if IsConf(v, r.Key) {
			dir := path.Dir(r.Key.Name())
			confs[dir] = append(confs[dir], path.Base(r.Key.Name()))
			p.Gone = append(p.Gone, host.Fact{Key: string(r.Key), Gone: true})
		}
	}
	if p.switches {
		return // no pod runs by then
	}
	for i := range list {
		if tasks.UsedByPods(list[i].Key) {
			list[i].Links = links
		}
		if dir := path.Dir(list[i].Key.Name()); IsConf(v, list[i].Key) {
			coming := false
			for _, key := range c.Set.Keys() {
				coming = coming || IsConf(v, key) && path.Dir(key.Name()) == dir
			}
			list[i].Confs = &tasks.ConfRemoval{Dir: dir, Going: confs[dir], Replaced: coming}
		}
	}
}

// IsConf reports whether a key is a file that a runtime reads as a CNI conf. Where no runtime is
// installed, one that reads the file may come back, as when its package is replaced.
func IsConf(v host.View, key graph.Key) bool {
	if key.Kind() != tasks.KindFile {
		return false
	}
	switch path.Ext(key.Name()) {
	case ".conf", ".conflist", ".json":
	default:
		return false
	}
	dir, reads := path.Dir(key.Name()), v.Facts.Runtime.ConfDir
	return dir == "/etc/cni/net.d" || dir == reads || reads == "" && path.Ext(key.Name()) == ".conflist"
}

// WithEffects adds to effects the effects that the tasks in list ask for.
func WithEffects(effects, list []tasks.Task) []tasks.Task {
	for _, t := range effectsOf(list) {
		if !slices.ContainsFunc(effects, func(e tasks.Task) bool { return e.Owns()[0] == t.Owns()[0] }) {
			effects = append(effects, t)
		}
	}
	return effects
}

// effectsOf returns the effects that tasks ask for.
func effectsOf(list []tasks.Task) []tasks.Task {
	seen := map[graph.Key]bool{}
	var out []tasks.Task
	for _, t := range list {
		for _, key := range tasks.EffectsOf(t) {
			if !seen[key] {
				seen[key] = true
				out = append(out, tasks.EffectOf(key))
			}
		}
	}
	return out
}

// Needed reports whether a switch needs a removal, because pods, their runtime or a program that an
// effect acts on would otherwise use what is left. Nothing uses other files of the former
// documents, such as a directory or a plugin.
func Needed(v host.View, t tasks.Task) bool {
	key := t.Owns()[0]
	confs := func(dir string) bool { return dir != "" && strings.HasPrefix(key.Name(), dir+"/") }
	return key.Kind() != tasks.KindFile || len(tasks.EffectsOf(t)) > 0 || confs("/etc/cni/net.d") ||
		confs(v.Facts.Runtime.ConfDir)
}
