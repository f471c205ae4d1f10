package fetch

import (
	"context"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// asideOf returns the archive of a task and the Aside that downloads it, or nil if none does.
func asideOf(t tasks.Task) (tasks.Archive, *Aside) {
	asset, _ := t.(tasks.Archive)
	a, _ := asset.Fetch.(*Aside)
	return asset, a
}

// had returns nil if all that an archive needs has been downloaded, otherwise why not.
func had(ctx context.Context, v host.View, t tasks.Task) error {
	asset, a := asideOf(t)
	if a == nil {
		return nil
	}
	return asset.Had(ctx, v, func(url string) error {
		there, err := a.begin(url, archive.Wanted{Name: asset.Name, Sum: asset.Sum})
		if err == nil && !there {
			return changes.Fetching("what is being fetched from " + tasks.Shown(url))
		}
		return err
	})
}

// Late returns for a plan what had returns. Before READY it returns nil, because the pass then
// reads the download as its bytes arrive, beside its other tasks.
func Late(ctx context.Context, v host.View, t tasks.Task) error {
	if _, a := asideOf(t); a == nil || a.early() {
		return nil
	}
	return had(ctx, v, t)
}

// StillLate returns what had returns, for a task that had no planned change. Even a complete
// download makes the task wait: it was not complete when the pass was planned, so the next pass
// uses it.
func StillLate(ctx context.Context, v host.View, t tasks.Task) error {
	asset, a := asideOf(t)
	if a == nil || a.early() {
		return nil
	}
	if err := had(ctx, v, t); err != nil {
		return err
	}
	return changes.Fetching("the next pass, for which " + asset.Name + " was fetched")
}

// Unfetched returns the archives of a switch that are not downloaded yet. The switch begins when
// all are.
func Unfetched(ctx context.Context, v host.View, g *tasks.Graph) map[graph.Key]error {
	out := map[graph.Key]error{}
	for _, t := range g.Order() {
		if err := had(ctx, v, t); err != nil {
			out[t.Owns()[0]] = err
		}
	}
	return out
}

// MayPrefetch reports whether an archive may be downloaded before it is certain that the pass uses
// it. The daemon does so once for each URL, before READY. A pass that fails before its first change
// is made again and again, and must not ask a mirror each time.
func MayPrefetch(t tasks.Archive) bool {
	_, a := asideOf(t)
	if a == nil || len(t.URLs) == 0 {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	url := t.URLs[0]
	if !a.early() || a.prefetched[url] {
		return false
	}
	a.prefetched[url] = true
	return true
}
