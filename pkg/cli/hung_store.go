package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// listLimit is how long a store may take to name its clusters. A file server that does not answer
// blocks a call for ever.
const listLimit = 10 * time.Second

// unlessHung calls ask, and returns an error if ask does not return before ctx or the limit ends.
// Then ask goes on, because nothing interrupts a blocked call, and its result is dropped.
func unlessHung[T any](
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
