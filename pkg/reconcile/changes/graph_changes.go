package changes

import (
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Work is a graph of tasks, with what changes of them and how each ended: as it was planned, or as
// it was made.
type Work struct {
	Graph   *tasks.Graph // nil: there is nothing
	Changes *Set
	Rep     tasks.Report
}

// WithGone is what was made, with what was planned to be removed and went before its turn with
// something else, such as the address of a link. A plan counts that too.
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
