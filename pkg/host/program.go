package host

import (
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// run starts a program of the running host. [ErrNotHere] below an image's root.
func (l *Live) run(ctx context.Context, c sys.Command) ([]byte, error) {
	if !l.opt.live() {
		return nil, fmt.Errorf("run %s: %w", c.Path, sys.ErrNotHere)
	}
	return sys.Run(ctx, c)
}
