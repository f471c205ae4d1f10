package publish

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
)

// Times of an [Object]: the least between two writings, and the longest between two attempts where
// the place cannot be had.
const (
	objectEvery = 30 * time.Second
	objectMax   = 10 * time.Minute
	objectLimit = time.Minute // for one attempt
)

var errSlow = errors.New("the place of the status object took more than a minute")

// Object puts the status where people look who cannot reach the node: one small JSON beside the
// documents of its store, from the first second. It is written where something but times changed. A
// place that cannot be had is tried again, ever more seldom, and nobody waits for it.
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
		data, err := json.Marshal(news.Status)
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
			host.Sleep(ctx, time.Duration(float64(wait)*(0.5+rand.Float64())))
			if newer, some := o.take(); some { // taken, so that what is written is what counts as published
				data, err = json.Marshal(newer.Status)
			}
		}
		host.Sleep(ctx, time.Duration(float64(objectEvery)*(0.9+0.2*rand.Float64())))
	}
}
