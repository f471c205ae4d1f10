package execute

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/tasks"
)

// Prefetches are the archives whose download begins before [Apply], by first key.
type Prefetches map[graph.Key]*tasks.ArchivePrefetch

// Prefetch begins to download the archives of a plan while the changes are recorded in the ledger.
// The downloads end with ctx. The caller must call [Prefetches.Discard].
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
	if len(out) > 0 { // while they are unpacked, the pages of the start are not used
		_ = host.UnmapProgram() // it only saves memory: after an error the pages stay
	}
	return out
}

// Discard ends the downloads, and returns when none is in progress any more.
func (p Prefetches) Discard() {
	for _, f := range p {
		f.Discard()
	}
}
