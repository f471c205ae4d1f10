package statestore

import (
	"context"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// FetchLimit is how long a [Store.Fetch] may take: the documents have at most 4 MB.
const FetchLimit = 100 * time.Second

// Bounded returns a store whose Fetch returns when its ctx ends or [FetchLimit] is over, also where
// the file system of a directory hangs. All commands fetch with it or with [UnlessHung]. The daemon
// fetches beside its loop, and begins no second fetch while one hangs.
func Bounded(s Store) Store { return bounded{s} }

type bounded struct{ Store }

func (b bounded) Fetch(ctx context.Context, last Revision) (*Snapshot, error) {
	return UnlessHung(ctx, b.String(), FetchLimit, func(ctx context.Context) (*Snapshot, error) {
		return b.Store.Fetch(ctx, last)
	})
}

// UnlessHung calls ask, and returns an error if ask does not return before ctx or the limit ends.
// Then ask goes on, because nothing interrupts a blocked call, and its result is dropped.
func UnlessHung[T any](
	ctx context.Context, store string, limit time.Duration, ask func(context.Context) (T, error),
) (T, error) {
	late := graph.Transient(fmt.Errorf("the state store %s did not answer within %s: look whether its server answers, "+
		"or the server of its file system (findmnt lists file systems)", store, limit))
	ctx, end := context.WithTimeoutCause(ctx, limit, late)
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		defer end()
		value, err := ask(ctx)
		answers <- answer{value, err}
	}()
	<-ctx.Done()
	select {
	case a := <-answers:
		return a.value, a.err
	default:
		var none T
		return none, context.Cause(ctx)
	}
}
