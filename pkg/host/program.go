package host

import (
	"context"
	"fmt"
)

// run starts a program of the running host. [ErrNotHere] below an image's root.
func (l *Live) run(ctx context.Context, c command) ([]byte, error) {
	if !l.opt.live() {
		return nil, fmt.Errorf("run %s: %w", c.path, ErrNotHere)
	}
	return runProgram(ctx, c)
}
