package daemon

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/directory"
)

// editLook is how often the daemon looks whether the files of its store are as they were, where
// they are files of this machine.
const editLook = 10 * time.Second

// edits has something when the files of a store changed, and were left alone since; nil: only a
// look tells that. Nobody waits for the goroutine: a file system may hang.
func edits(ctx context.Context, store statestore.Store) <-chan struct{} {
	files, ok := store.(*directory.Directory)
	if !ok {
		return nil
	}
	edited := make(chan struct{}, 1)
	go files.Watch(ctx, editLook, func() {
		select {
		case edited <- struct{}{}:
		default: // it is to be looked at already
		}
	})
	return edited
}
