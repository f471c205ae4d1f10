package daemon

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/directory"
)

// watchSplay spreads the looks of a fleet after a change: all nodes watch the same object.
const watchSplay = 2 * time.Second

// watch watches the store and the Nodes of the API until ctx ends, and sends the name of the one
// that changed. It runs only while the loop waits.
func (l *loop) watch(ctx context.Context) <-chan string {
	changed := make(chan string, 2)
	if !time.Now().Before(l.next) || l.looks.now != nil && !l.looks.now.lost {
		return changed // a pass is due, or the look under way finds the change
	}
	// after a failed read only the pauses between passes decide when to ask the store again
	if w, ok := l.Store.(statestore.Watcher); ok && l.unread == nil && l.looks.now == nil {
		go follow(ctx, l.Daemon, &l.unwatched, "the store", w.Changed, changed)
	}
	if l.Pass.API != nil {
		go follow(ctx, l.Daemon, &l.unwatched, "the Kubernetes API", l.Pass.API.Changed, changed)
	}
	return changed
}

// follow waits for one change and sends what changed. It retries transient errors, and logs another
// one once.
func follow(
	ctx context.Context, d Daemon, unwatched *sync.Map, what string, await func(context.Context) error,
	changed chan<- string,
) {
	for failures := 1; ; failures++ {
		err := await(ctx)
		switch {
		case err == nil:
			unwatched.Delete(what)
			if host.Sleep(ctx, rand.N(watchSplay)) {
				changed <- what
			}
			return
		case ctx.Err() != nil, errors.Is(err, errors.ErrUnsupported):
			return
		case !graph.IsTransient(err):
			why := report.Stable(err.Error())
			if said, _ := unwatched.Swap(what, why); said != why {
				d.Pass.Log.Warn("not watched: "+what+" is asked every interval", zap.Error(err))
			}
			return
		case !host.Sleep(ctx, Delay(d.Interval, failures)):
			return
		}
	}
}

// editLook is how often the daemon looks for changed files of a store on this machine.
const editLook = 10 * time.Second

// edits returns a channel that receives when the files of a store changed and are stable since. It
// returns nil for a store that is no directory: only a look finds its changes. Nothing waits for
// the goroutine to end: a file system may hang.
func edits(ctx context.Context, store statestore.Store) <-chan struct{} {
	files, ok := store.(*directory.Directory)
	if !ok {
		return nil
	}
	edited := make(chan struct{}, 1)
	go files.Watch(ctx, editLook, func() {
		select {
		case edited <- struct{}{}:
		default: // a look is pending already
		}
	})
	return edited
}
