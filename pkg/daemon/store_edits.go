package daemon

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/directory"
)

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
