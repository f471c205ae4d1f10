package agent

import (
	"path"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// reachable says why a change cannot be made: a path of it leads through a link that is not followed.
// That fails before anything of the path is taken down, and this one task alone.
func reachable(v host.View, t tasks.Task, c *tasks.Change) error {
	for _, it := range c.Items {
		if file := tasks.FileOf(it.Key); file != "" {
			if err := v.Way(wayOf(t, it.Key, file)); err != nil {
				return graph.Permanent(err)
			}
		}
	}
	return nil
}

// linksOnTheWay says once of each link that is not followed that it lies on the way to what the documents want.
func linksOnTheWay(v host.View, g *graph.Graph[tasks.Task]) (notes []model.Note) {
	for _, dir := range directories(g) {
		if err := v.Way(dir); err != nil && !slices.ContainsFunc(notes, func(n model.Note) bool { return n.Text == err.Error() }) {
			notes = append(notes, model.Note{Level: network.Warning, Text: err.Error()})
		}
	}
	return notes
}

// wayOf is the directory that a change of a key is made in, or the file that is edited.
func wayOf(t tasks.Task, key graph.Key, file string) string {
	if d, ok := t.(tasks.Directory); key.Kind() == tasks.KindTOML || ok && d.Path == file {
		return file
	}
	return path.Dir(file)
}

// linksMet are notes of the links that a host has on the way to directories of the network, and that
// are not followed.
func linksMet(f *host.Facts, followed []string) (notes []string) {
	for _, link := range f.SymbolicLinks {
		if !slices.Contains(followed, link.Path) {
			notes = append(notes, link.Error())
		}
	}
	return notes
}
