package cri

import (
	"context"
	"fmt"
	"time"
)

// answerTimeout is how long a working container runtime may take to report its version, also on a
// busy node.
const answerTimeout = 5 * time.Second

// CheckAnswer returns nil if the container runtime at a socket answers. It waits up to
// answerTimeout for a runtime that hangs. The daemon calls it in the background of its passes. It
// may be retried.
func CheckAnswer(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %s", answerTimeout))
	defer cancel()
	c, done := dialCRI(socket)
	defer done()
	_, err := c.call(ctx, "Version", nil)
	return servesNone(err)
}
