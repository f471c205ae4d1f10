package cri

import (
	"context"
	"fmt"
	"time"
)

// answerTimeout is how long a container runtime that works may take to say its version, also on a
// busy node.
const answerTimeout = 5 * time.Second

// CheckAnswer asks the container runtime at a socket whether it answers; nil: it does. It waits for
// a runtime that hangs. The daemon calls it beside its passes; it may be called again.
func CheckAnswer(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %s", answerTimeout))
	defer cancel()
	c, done := dialCRI(socket)
	defer done()
	_, err := c.call(ctx, "Version", nil)
	return err
}
