package execute

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/tasks"
)

// Prefetches are archives that are fetched before [Apply], by first key.
type Prefetches map[graph.Key]*tasks.ArchivePrefetch

// Prefetch begins to fetch the archives of a plan: beside what is written down before the first
// change. It ends with ctx, and the caller ends it with [Prefetches.Discard].
func Prefetch(
	ctx context.Context, plan changes.Work, h *host.Host, refused map[graph.Key]error,
) Prefetches {
	out := Prefetches{}
	for _, t := range plan.Graph.Order() {
		archive, is := t.(tasks.Archive)
		if !is {
			continue
		}
		key := t.Owns()[0]
		c := plan.Changes.Get(key)
		if c == nil || c.NotApplicable != "" || plan.Changes.Repairs.Later(key) != nil || refused[key] != nil {
			continue
		}
		if !fetch.MayPrefetch(archive) {
			continue
		}
		if f := archive.Prefetch(ctx, h); f != nil {
			out[key] = f
		}
	}
	if len(out) > 0 { // what a start used is not used again while they are unpacked
		_ = host.UnmapProgram() // a saving: where it fails the pages stay
	}
	return out
}

// Discard ends what was begun, and returns when nothing of it is under way.
func (p Prefetches) Discard() {
	for _, f := range p {
		f.Discard()
	}
}
