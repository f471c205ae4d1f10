package cleanup

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// Selection is what a network leaves, and what its selectors are matched against.
type Selection struct {
	Residue
	Scope
}

var _ tasks.FindRemover = Selection{}

// phase finds one kind of thing.
type phase struct {
	find func(context.Context, host.View, Residue, Scope) ([]item, error)
	// early says that what such a thing is known by may go before it: it is looked for before
	// anything goes as well.
	early bool
}

// phases in the order in which taking away works: what the host stands on is restored first;
// programs go before what they steer packets around; rules go before the chains and sets that they
// use; rules before their tables' routes, routes before their links, bridges of Open vSwitch before
// its devices; pins before files. Upstream's own tools do it in this order where they do it
// (cilium-dbg post-uninstall-cleanup, kube-router --cleanup-config, dist/images/uninstall.sh of
// Kube-OVN).
func phases() []phase {
	return []phase{
		{find: findUnits},
		{find: findUplinks},
		{find: findLocalRule},
		{find: findPrograms},
		{find: findRules},
		{find: findRoutes},
		{find: findIPVS},
		{find: findChains},
		{find: findTables},
		{find: findIPSets},
		{find: findXFRM},
		{find: findOVS},
		{find: findLinks, early: true}, // by a master, or by routes of pods,
		{find: findPins},
		{find: findSysctls},
		{find: findLines},
		{find: findRenamed},
		{find: findFiles},
	}
}

// Find implements [tasks.FindRemover].
func (s Selection) Find(ctx context.Context, v host.View) ([]tasks.Found, error) {
	s, err := s.besides(ctx, v)
	if err != nil {
		return nil, err
	}
	var out []tasks.Found
	routes := map[graph.Key]bool{} // by a rule that leads to it and by a selector of its own
	for _, phase := range phases() {
		found, err := phase.find(ctx, v, s.Residue, s.Scope)
		if err != nil {
			return nil, tasks.Passing(err)
		}
		for _, f := range found {
			again := f.Key.Kind() == tasks.KindRoute && routes[f.Key]
			routes[f.Key] = true
			if !again && !s.retains(f.Key) {
				out = append(out, tasks.Found{Key: f.Key, Detail: f.Detail})
			}
		}
	}
	return out, nil
}

// Remove implements [tasks.FindRemover]. Layer by phase, each looked for anew: what goes
// takes others with it.
func (s Selection) Remove(ctx context.Context, h *host.Host) error {
	s, err := s.besides(ctx, h.Live.View())
	if err != nil {
		return err
	}
	var failed []error
	find := func(p phase) (found []item) {
		found, err := p.find(ctx, h.Live.View(), s.Residue, s.Scope)
		if err != nil {
			failed = append(failed, tasks.Passing(err))
		}
		return found
	}
	all := phases()
	early := make([][]item, len(all))
	for i, phase := range all {
		if phase.early {
			early[i] = find(phase)
		}
	}
	reload := false
	for i, phase := range all {
		for _, f := range united(early[i], find(phase)) {
			if f.remove == nil || s.retains(f.Key) {
				continue
			}
			if err := f.remove(ctx, h); err != nil {
				failed = append(failed, tasks.Passing(err))
			}
			reload = reload || f.Key.Kind() == tasks.KindFile && strings.HasPrefix(f.Key.Name(), "/etc/systemd/system/")
		}
	}
	if reload { // systemd forgets the units whose files went
		if err := h.Units.DaemonReload(ctx); err != nil {
			failed = append(failed, tasks.Passing(err))
		}
	}
	return errors.Join(failed...)
}

// united are the items of both, each once.
func united(a, b []item) []item {
	return append(a, slices.DeleteFunc(b, func(f item) bool {
		return slices.ContainsFunc(a, func(o item) bool { return o.Key == f.Key })
	})...)
}

// besides is the selection with what is in use beside it among what is retained.
func (s Selection) besides(ctx context.Context, v host.View) (Selection, error) {
	inUse := Selection{Residue: s.Current, Scope: Scope{PodCIDRs: s.PodCIDRs}}
	s.Current, s.Retain = Residue{}, slices.Clone(s.Retain)
	for _, phase := range phases() {
		found, err := phase.find(ctx, v, inUse.Residue, inUse.Scope)
		if err != nil {
			return s, tasks.Passing(err)
		}
		for _, f := range found {
			if f.Key.Kind() != tasks.KindChain {
				s.Retain = append(s.Retain, f.Key)
			}
		}
	}
	return s, nil
}
