package publish

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
)

// Times of an [Object]: the shortest between two writes, and the longest between two attempts while
// a write fails.
const (
	objectEvery = 30 * time.Second
	objectMax   = 10 * time.Minute
	objectLimit = time.Minute // of one attempt
)

var errSlow = errors.New("the destination of the status object took more than a minute")

// Object writes the status as a small JSON object beside the documents of the store, for people who
// cannot reach the node. It writes from the daemon's start, and where more than times changed. A
// write that fails is tried again after growing pauses; nothing waits for it.
type Object struct {
	Latest
	Put func(ctx context.Context, data []byte) error
	Log *zap.Logger
}

// Run writes until ctx ends.
func (o *Object) Run(ctx context.Context) {
	for {
		news, ok := o.Next(ctx)
		if !ok {
			return
		}
		data, err := json.Marshal(news.Status.ByClock())
		for wait := objectEvery; err == nil; wait = min(2*wait, objectMax) {
			attempt, cancel := context.WithTimeoutCause(ctx, objectLimit, errSlow)
			failed := o.Put(attempt, append(data, '\n'))
			cancel()
			if ctx.Err() != nil {
				return
			}
			if failed == nil {
				break
			}
			if wait == objectEvery {
				o.Log.Warn("the status object is not written; it is tried again", zap.Error(failed))
			}
			host.Sleep(ctx, host.Jitter(wait, 0.5))
			if newer, some := o.take(); some { // take it, so that it counts as published
				data, err = json.Marshal(newer.Status.ByClock())
			}
		}
		host.Sleep(ctx, host.Jitter(objectEvery, 0.1))
	}
}
