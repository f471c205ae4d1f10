package host

import (
	"context"
	"fmt"
	"time"
)

// runtimeAnswers is how long a container runtime that works may take to say its version, also on a busy node.
const runtimeAnswers = 5 * time.Second

// RuntimeUnit is the unit of a container runtime, by the name that [RuntimeFacts] has; "" where none is known.
func RuntimeUnit(name string) string {
	for _, kind := range runtimeKinds {
		if kind.name == name {
			return kind.unit
		}
	}
	return ""
}

// RuntimeWorks asks the container runtime at a socket whether it answers; nil: it does. It waits for a runtime that hangs.
func RuntimeWorks(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, runtimeAnswers, fmt.Errorf("no answer within %s", runtimeAnswers))
	defer cancel()
	c, done := dialCRI(socket)
	defer done()
	_, err := c.version(ctx)
	return err
}
