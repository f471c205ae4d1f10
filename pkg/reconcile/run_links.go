package reconcile

import (
	"maps"
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// linksOnTheWay says once of each link that is not followed that it lies on the way to what the
// documents want.
func linksOnTheWay(v host.View, g *graph.Graph[tasks.Task]) (notes []model.Note) {
	for _, dir := range directories(g) {
		if err := v.Way(dir); err != nil && !slices.ContainsFunc(notes, func(n model.Note) bool { return n.Text == err.Error() }) {
			notes = append(notes, model.Note{Level: network.Warning, Text: err.Error()})
		}
	}
	return notes
}

// directories are those that the tasks of graphs have files in, and the ledger's own.
func directories(graphs ...*graph.Graph[tasks.Task]) []string {
	dirs := map[string]bool{}
	for _, dir := range ledger.Directories() {
		dirs[dir] = true
	}
	for _, g := range graphs {
		if g == nil {
			continue
		}
		for _, t := range g.Order() {
			for _, key := range t.Owns() {
				if file := tasks.FileOf(key); file != "" {
					dirs[path.Dir(file)] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// unfinished are the directories in which an earlier run was about to change something: killed
// there, it left what it had staged, maybe for what nobody wants any more. A ledger that is settled
// has none, and is not decoded to look for them: of ten thousand files that takes longer than the
// whole pass.
func unfinished(led *ledger.Ledger) []string {
	if led.Head().Settled {
		return nil
	}
	dirs := map[string]bool{}
	for key, e := range led.Entries() {
		if file := tasks.FileOf(key); file != "" && e.Pending {
			dirs[path.Dir(file)] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}
