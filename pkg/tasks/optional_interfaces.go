package tasks

import (
	"context"
	"encoding/json"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// StateReader reads one key that a task owns, or owned before.
type StateReader interface {
	// Live describes the host's state at the key. Callers may only compare two results. "" says
	// that nothing is there. It contains no secret, and Live writes nothing.
	Live(ctx context.Context, v host.View) (string, error)
}

// Remover can remove its key from the host. Keys of kinds without it stay when no document wants
// them any more: a sysctl cannot be removed, and a module or mount may be in use.
type Remover interface {
	StateReader
	// Remove removes the key from the host; it is no error if the key is missing. It never removes
	// a physical device, the link of the default route, or what is marked as another program's. It
	// may be retried.
	Remove(ctx context.Context, h *host.Host) error
}

// Presenter reports whether its key exists at all, where Live may say that an existing one is gone:
// a unit that is off.
type Presenter interface {
	Present(ctx context.Context, v host.View) (bool, error)
}

// Claimer reports whether the present state can be the agent's. The kernel stores which program
// made a route or a rule, and Remove does not remove those of others.
type Claimer interface {
	// Unmanaged reports, for a result of Live, that it is not the agent's.
	Unmanaged(live string) bool
}

// UseReader reports what of other programs would be lost with its key.
type UseReader interface {
	// UsedBy names it; "": nothing would be lost. ours reports which other keys are in the ledger.
	UsedBy(ctx context.Context, v host.View, ours func(graph.Key) bool) (string, error)
}

// Restorer can restore the baseline of its key.
type Restorer interface {
	StateReader
	// Baseline records the present state. It is called once, before the first Apply.
	Baseline(ctx context.Context, v host.View) (Baseline, error)
	// Restored reports whether the state is the baseline's, including what Live does not describe:
	// a file's mtime and attributes.
	Restored(ctx context.Context, v host.View, b Baseline) (bool, error)
	// Restore restores the baseline. It may be retried.
	Restore(ctx context.Context, h *host.Host, b Baseline) error
}

// alive implements [Restorer.Restored] for kinds where Live describes all that can be restored.
func alive(ctx context.Context, v host.View, k StateReader, b Baseline) (bool, error) {
	live, err := k.Live(ctx, v)
	return live == b.Live, err
}

// Baseline is the state of a key before the agent first changed it.
type Baseline struct {
	Live string          `json:"live"` // the result of StateReader.Live
	Data json.RawMessage `json:"data,omitempty"`
	Blob *blob.Digest    `json:"blob,omitempty"` // the digest of the content
	// Lost says why the state cannot be restored; "": it can.
	Lost string `json:"lost,omitempty"`
	// Content is stored separately, by Blob; nil where the kind has none.
	Content []byte `json:"-"`
}

// baseline returns a baseline with the result of Live, and data, with which Restore restores the
// state.
func baseline(ctx context.Context, v host.View, k StateReader, data any) (b Baseline, err error) {
	if b.Live, err = k.Live(ctx, v); err != nil || b.Live == "" {
		return b, err
	}
	b.Data, err = json.Marshal(data)
	return b, err
}
