package tasks

import (
	"context"
	"encoding/json"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// StateReader looks after one key that a task owns, or once owned.
type StateReader interface {
	// Live describes what the host has at the key; only its equality means
	// something. "" says that nothing is there. It says no secret and writes nothing.
	Live(ctx context.Context, v host.View) (string, error)
}

// Remover can take its key off the host. Kinds without it stay where they are
// when nobody wants them any more: a sysctl has no absence, a module or a mount may be in use.
type Remover interface {
	StateReader
	// Remove takes the key off the host; absent is success. It never removes
	// a device of the machine, the default route's link or what is marked as
	// somebody else's. It may be retried.
	Remove(ctx context.Context, h *host.Host) error
}

// Presenter tells whether its key is there at all, where what is there may count as gone: a unit
// that is off.
type Presenter interface {
	Present(ctx context.Context, v host.View) (bool, error)
}

// Claimer tells whether what is there may be ours at all. The kernel holds who made a route or a
// rule, and Remove leaves those of others alone.
type Claimer interface {
	// Unmanaged says so of what Live said.
	Unmanaged(live string) bool
}

// UseReader tells what of somebody else's would go along with its key.
type UseReader interface {
	// UsedBy names it; "" if nothing would. ours says which other keys are the ledger's.
	UsedBy(ctx context.Context, v host.View, ours func(graph.Key) bool) (string, error)
}

// Restorer can bring back what was at its key before the agent came.
type Restorer interface {
	StateReader
	// Baseline takes down what there is. Called once, before the first Apply.
	Baseline(ctx context.Context, v host.View) (Baseline, error)
	// Restored says whether it is so, with what Live does not tell: a file's time of change and its
	// attributes.
	Restored(ctx context.Context, v host.View, b Baseline) (bool, error)
	// Restore makes it so again. It may be retried.
	Restore(ctx context.Context, h *host.Host, b Baseline) error
}

// alive is [Restorer.Restored] where Live tells all that can come back.
func alive(ctx context.Context, v host.View, k StateReader, b Baseline) (bool, error) {
	live, err := k.Live(ctx, v)
	return live == b.Live, err
}

// Baseline is what was at a key before the agent first touched it.
type Baseline struct {
	Live string          `json:"live"` // as Keeper.Live said
	Data json.RawMessage `json:"data,omitempty"`
	Blob *blob.Digest    `json:"blob,omitempty"` // names the content
	// Lost says why it cannot be brought back; "" where it can.
	Lost string `json:"lost,omitempty"`
	// Content is kept apart, by Blob; nil where the kind has none.
	Content []byte `json:"-"`
}

// baseline is what a keeper sees, with what it needs to make it so again.
func baseline(ctx context.Context, v host.View, k StateReader, data any) (b Baseline, err error) {
	if b.Live, err = k.Live(ctx, v); err != nil || b.Live == "" {
		return b, err
	}
	b.Data, err = json.Marshal(data)
	return b, err
}
