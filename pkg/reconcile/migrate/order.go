package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/tasks"
)

// A switch is tasks and edges of the pass that wants the next network. What that network needs
// besides the kernel's objects and the conf (plugins, modules, sysctls, files) comes early, before
// anything is disturbed; then
//
//	pause kubelet → evict the pods → clean the kernel → links, routes, tables, the conf of the next network → clean the disk
//
// and, with what the ledger no longer wants, at the end of the removals: resume kubelet.

// Begins says that the pass makes the switch.
func (s *Switch) Begins() bool { return s != nil && s.Blocked == nil && !s.Stays }

// Without are facts of the host as the next network finds it: the old one's links are gone by then,
// and say nothing of its MTU.
func (s *Switch) Without(f *host.Facts) *host.Facts {
	out := *f
	out.Links = slices.DeleteFunc(slices.Clone(f.Links), func(l host.LinkFact) bool {
		return slices.ContainsFunc(s.found, func(left tasks.Found) bool { return left.Key == tasks.LinkKey(l.Name) })
	})
	return &out
}

func (s *Switch) meta(why string) tasks.Meta {
	from := "revision"
	if s.wanted.Pinned == nil {
		from = s.wanted.Node.Origin("spec.networking." + s.wanted.Network()).String()
	}
	return tasks.Meta{From: from, Why: why}
}

func (s *Switch) evict() tasks.Evict {
	return tasks.Evict{Meta: s.meta("while the conf and the plugins that made its network are there"),
		Network: s.From.Name, Agents: s.From.Agents}
}

func (s *Switch) kernel() tasks.Cleanup {
	return tasks.Cleanup{Meta: s.meta(""), Network: s.From.Name,
		Residue: cleanup.Selection{Residue: s.From.Residue.Kernel(), Scope: s.scope}}
}

func (s *Switch) disk() tasks.Cleanup {
	return tasks.Cleanup{Meta: s.meta(""), Network: s.From.Name, Part: "files",
		Residue: cleanup.Selection{Residue: s.From.Residue.OnDisk(), Scope: s.scope}}
}

// Order puts the tasks of the switch among those of the next network.
func (s *Switch) Order(g *tasks.Graph, v host.View) (*tasks.Graph, error) {
	late := comesLate(g, v)
	after := map[graph.Key][]graph.Key{}
	evict, kernel, disk := s.evict(), s.kernel(), s.disk()
	first := evict.Owns()[0]
	list := append(g.Order(), evict, kernel, disk)
	if s.unit != "" {
		pause := tasks.Pause{Meta: s.meta(""), Unit: s.unit}
		list = append(list, pause)
		after[first], first = pause.Owns(), pause.Owns()[0]
	}
	after[kernel.Owns()[0]], after[disk.Owns()[0]] = evict.Owns(), kernel.Owns()
	for _, t := range g.Order() {
		key := t.Owns()[0]
		switch before := t.Base().At == graph.BeforeKubelet; {
		case !late[key] && before:
			after[first] = append(after[first], key)
		case key.Kind() == tasks.KindConf: // what the runtime uses is known when the old conf is gone
			after[key] = disk.Owns()
		case late[key]:
			after[key] = kernel.Owns()
			if before {
				after[disk.Owns()[0]] = append(after[disk.Owns()[0]], key)
			}
		}
	}
	out, err := graph.New(list, tasks.AsNodes{},
		graph.Options{Parent: graph.PathParent, Requires: after})
	if err != nil {
		return nil, graph.Permanent(fmt.Errorf("order the switch from %s to %s: %w", s.From.Name, s.To.Name, err))
	}
	return out, nil
}

// comesLate are the tasks, by first key, that cannot be made while the old network is there: what
// the kernel has of a network, the conf, restarts, and all that needs them.
func comesLate(g *tasks.Graph, v host.View) map[graph.Key]bool {
	late := map[graph.Key]bool{}
	for _, t := range g.Order() { // what a task needs comes before it
		key := t.Owns()[0]
		isLate := tasks.UsedByPods(key) || !tasks.IsState(key) && key != tasks.DaemonReload || ownership.IsConf(v, key)
		if late[key] = late[key] || isLate; !late[key] {
			continue
		}
		for _, next := range g.Dependents(t) {
			late[next.Node.Owns()[0]] = true
		}
	}
	return late
}

// Tail is what comes after all removals of a switch.
func (s *Switch) Tail() []tasks.Task {
	if !s.Begins() || s.unit == "" {
		return nil
	}
	return []tasks.Task{tasks.Resume{Meta: s.meta(""), Unit: s.unit}}
}

// Unfit says why a switch that was planned is not begun: nothing may be missing on the way.
func (s *Switch) Unfit(reports ...tasks.Report) (why error, waits bool) {
	for _, rep := range reports {
		rep = changes.Allowed(rep)
		if err := changes.Failure(made(rep)); err != nil {
			return fmt.Errorf("it is not begun while a part of it cannot be planned: %w", err), false
		}
		for i := range rep.Results {
			res := &rep.Results[i]
			key := res.Key
			if res.State == graph.Waiting && (res.Node.Base().At == graph.BeforeKubelet || key.Kind() == tasks.KindAwait) {
				return res.Err, true
			}
		}
	}
	return nil, false
}

// made is a run without what a switch does not make: the conf in force, which the network that
// comes may bring itself. One of somebody else that is broken is in force once ours is gone, and
// until that one is there.
func made(rep tasks.Report) tasks.Report {
	rep.Results = slices.DeleteFunc(slices.Clone(rep.Results), func(res tasks.Result) bool {
		return res.Key.Kind() == tasks.KindConf
	})
	return rep
}

// errUnfinished is why a switch is undone that did not come to its end.
var errUnfinished = errors.New("the switch of networks did not come to its end")

// Unfinished says why a switch that was begun is not made; nil also where none was.
func (s *Switch) Unfinished(reports ...tasks.Report) error {
	if !s.Begins() {
		return nil
	}
	for _, rep := range reports {
		rep = changes.Allowed(rep)
		if err := changes.Failure(made(rep)); err != nil {
			return fmt.Errorf("%w: %w", errUnfinished, err)
		}
		for i := range rep.Results {
			if res := &rep.Results[i]; res.State != graph.Done && res.Node.Base().At == graph.BeforeKubelet {
				return fmt.Errorf("%w: %s is %s", errUnfinished, res.Key, res.State)
			}
		}
	}
	return nil
}

// Broken is the error that ended a switch in its middle.
func (s *Switch) Broken(err error) error {
	if !s.Begins() {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnfinished, err)
}

// Arrive notes in the ledger which network the node has now, before the checkpoint ends: an undo
// takes it back with the rest, and a run that is killed after it does not switch again.
func (s *Switch) Arrive(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	head := led.Head()
	head.Network = s.wanted.NetworkAfter(head.Network)
	return led.Commit(ctx, h.Files, ledger.Batch{Head: head})
}

// Essential is what became of the removals that a switch cannot do without.
func Essential(v host.View, rep tasks.Report) tasks.Report {
	return tasks.Report{Results: slices.DeleteFunc(slices.Clone(rep.Results),
		func(res tasks.Result) bool {
			return !ownership.Needed(v, res.Node)
		})}
}
