package changes

import (
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Work is a graph of tasks, with their changes and the result of each task, as planned or as
// applied.
type Work struct {
	Graph   *tasks.Graph // nil: there are no tasks
	Changes *Set
	Rep     tasks.Report
}

// WithGone returns what was applied, and adds planned removals of keys that disappeared together
// with another key before their turn, such as the address of a link. The plan counts those too.
func (w Work) WithGone(planned *Set) Work {
	all := w.Changes.Without(nil)
	for i := range w.Rep.Results {
		key := w.Rep.Results[i].Key
		p := planned.ByKey[key]
		if p == nil || w.Rep.Results[i].State != graph.Done {
			continue
		}
		made := tasks.Change{Reason: p.Reason}
		if was := w.Changes.ByKey[key]; was != nil {
			made = *was
		}
		for _, item := range p.Items {
			same := func(o tasks.Item) bool { return o.Key == item.Key }
			if item.Op == tasks.Remove && !slices.ContainsFunc(made.Items, same) {
				made.Items = append(slices.Clip(made.Items), item)
				all.ByKey[key] = &made
			}
		}
	}
	w.Changes = all
	return w
}
