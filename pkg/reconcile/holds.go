package reconcile

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// holds says what of somebody else's would go along with a key of ours; "" if nothing would.
// Directories are looked at when their turn comes, since what is in them may go before.
func (c *custody) holds(ctx context.Context, v host.View, k tasks.Keeper) (string, error) {
	holder, ok := k.(tasks.Holder)
	if !ok {
		return "", nil
	}
	return holder.Holds(ctx, v, func(key graph.Key) bool {
		_, known := c.led.Entries()[key]
		return known
	})
}
