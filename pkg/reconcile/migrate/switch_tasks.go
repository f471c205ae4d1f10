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

// A switch of networks is a set of tasks and edges in the pass that wants the next network. What
// the next network needs besides kernel objects and the conf (plugins, modules, sysctls, files)
// comes first, before anything is disturbed. Then follows:
//
//	pause kubelet → evict the pods → clean the kernel → links, routes, tables, the conf of the next network → clean the disk
//
// The last removals of the pass are those that the ledger no longer wants, and then kubelet is
// resumed.

// Begins reports whether this pass makes the switch.
func (s *Switch) Begins() bool { return s != nil && s.Blocked == nil && !s.Stays }

// Without returns the facts of the host as the next network will find it. The links of the old
// network will be gone by then and must not influence the new MTU.
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

// Order adds the tasks of the switch to those of the next network.
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
		case key.Kind() == tasks.KindConf: // the conf that the runtime uses is known once the old conf is gone
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

// comesLate returns the tasks, by first key, that cannot be applied while the old network is
// there: kernel objects of a network, the conf, restarts, and all tasks that need one of these.
func comesLate(g *tasks.Graph, v host.View) map[graph.Key]bool {
	late := map[graph.Key]bool{}
	for _, t := range g.Order() { // a task comes after the tasks that it needs
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

// Tail returns the tasks that run after all removals of a switch.
func (s *Switch) Tail() []tasks.Task {
	if !s.Begins() || s.unit == "" {
		return nil
	}
	return []tasks.Task{tasks.Resume{Meta: s.meta(""), Unit: s.unit}}
}

// Unfit returns why a planned switch must not begin: every task on its way must be possible.
func (s *Switch) Unfit(reports ...tasks.Report) (why error, waits bool) {
	for _, rep := range reports {
		rep = changes.Allowed(rep)
		if err := changes.Failure(made(rep)); err != nil {
			return fmt.Errorf("the switch is not begun while a part of it cannot be planned: %w", err), false
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

// made returns a report without the conf in force, which a switch does not make itself: the next
// network may install it later. A broken conf of another owner may be in force after ours is
// removed and until that one is there.
func made(rep tasks.Report) tasks.Report {
	rep.Results = slices.DeleteFunc(slices.Clone(rep.Results), func(res tasks.Result) bool {
		return res.Key.Kind() == tasks.KindConf
	})
	return rep
}

// errUnfinished is the reason for undoing a switch that did not finish.
var errUnfinished = errors.New("the switch of networks did not end")

// Unfinished returns why a switch that has begun did not finish. It returns nil also if no switch
// has begun.
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

// Broken returns the error that stopped a switch before its end.
func (s *Switch) Broken(err error) error {
	if !s.Begins() {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnfinished, err)
}

// Arrive records in the ledger which network the node has now. It does so before the checkpoint
// ends: an undo then reverts the record together with the rest, and a run that continues after a
// kill does not switch again.
func (s *Switch) Arrive(ctx context.Context, h *host.Host, led *ledger.Ledger) error {
	head := led.Head()
	head.Network = s.wanted.NetworkAfter(head.Network)
	return led.Commit(ctx, h.Files, ledger.Batch{Head: head})
}

// Essential returns the outcome of those removals that a switch needs.
func Essential(v host.View, rep tasks.Report) tasks.Report {
	return tasks.Report{Results: slices.DeleteFunc(slices.Clone(rep.Results),
		func(res tasks.Result) bool {
			return !ownership.Needed(v, res.Node)
		})}
}
