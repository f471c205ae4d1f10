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

// Selection is the residue of a network with the values that its selectors are compared with.
type Selection struct {
	Residue
	Scope
}

var _ tasks.FindRemover = Selection{}

// phase finds one kind of thing.
type phase struct {
	find func(context.Context, host.View, Residue, Scope) ([]item, error)
	// early means that an earlier phase may remove what identifies such a thing. Therefore it is
	// also searched for before anything is removed.
	early bool
}

// phases returns the phases in the order in which a removal works. What the host itself needs is
// restored first. Programs go before what they steer packets around. Rules go before the chains
// and sets that they use. Policy rules go before the routes of their tables, routes before their
// links, and bridges of Open vSwitch before its devices. Pins go before files. Where the tools of
// the networks remove these things, they use the same order (cilium-dbg post-uninstall-cleanup,
// kube-router --cleanup-config, dist/images/uninstall.sh of Kube-OVN).
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
		{find: findLinks, early: true}, // found by a master, or by routes of pods
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
	routes := map[graph.Key]bool{} // found by a rule that leads to it and by its own selector
	for _, phase := range phases() {
		found, err := phase.find(ctx, v, s.Residue, s.Scope)
		if err != nil {
			return nil, tasks.MarkTransient(err)
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

// Remove implements [tasks.FindRemover]. It works layer by layer and phase by phase. It searches
// again for each phase, because a removal may remove other things too.
func (s Selection) Remove(ctx context.Context, h *host.Host) error {
	s, err := s.besides(ctx, h.Live.View())
	if err != nil {
		return err
	}
	var failed []error
	find := func(p phase) (found []item) {
		found, err := p.find(ctx, h.Live.View(), s.Residue, s.Scope)
		if err != nil {
			failed = append(failed, tasks.MarkTransient(err))
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
				failed = append(failed, tasks.MarkTransient(err))
			}
			reload = reload || f.Key.Kind() == tasks.KindFile && strings.HasPrefix(f.Key.Name(), "/etc/systemd/system/")
		}
	}
	if reload { // systemd forgets the units whose files are gone
		if err := h.Units.DaemonReload(ctx); err != nil {
			failed = append(failed, tasks.MarkTransient(err))
		}
	}
	return errors.Join(failed...)
}

// united returns the items of both slices, each once.
func united(a, b []item) []item {
	return append(a, slices.DeleteFunc(b, func(f item) bool {
		return slices.ContainsFunc(a, func(o item) bool { return o.Key == f.Key })
	})...)
}

// besides returns the selection with what the network's current mode uses added to what is
// retained.
func (s Selection) besides(ctx context.Context, v host.View) (Selection, error) {
	inUse := Selection{Residue: s.Current, Scope: Scope{PodCIDRs: s.PodCIDRs}}
	s.Current, s.Retain = Residue{}, slices.Clone(s.Retain)
	for _, phase := range phases() {
		found, err := phase.find(ctx, v, inUse.Residue, inUse.Scope)
		if err != nil {
			return s, tasks.MarkTransient(err)
		}
		for _, f := range found {
			if f.Key.Kind() != tasks.KindChain {
				s.Retain = append(s.Retain, f.Key)
			}
		}
	}
	return s, nil
}
