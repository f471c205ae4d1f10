package guard

import (
	"context"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/revert"
)

// Taker takes checkpoints for a program that changes a host.
type Taker struct {
	Running    bool                // false: the host is not running, so nothing can be cut off
	Settings   checkpoint.Settings // how the node is probed
	Log        *zap.Logger
	API        *access.API // to ask the node's peers to connect to its ports; nil: they are not asked
	Node       string      // the node's name in the API; "": it has none
	CachesCopy bool        // the copy of the agent for the undo is kept for the next checkpoint
	All        bool        // also for changes that are proved harmless
}

// Take captures the state of all that changes, and returns the context of the run. The guard is nil
// if nothing can be cut off.
func (t Taker) Take(
	ctx context.Context, h *host.Host, led *ledger.Ledger, change checkpoint.Change,
) (*Guard, context.Context, error) {
	if !t.Running {
		return nil, ctx, nil
	}
	settings := t.Settings
	settings.Log, settings.Record, settings.CachesCopy = t.Log, revert.Recorder(led), t.CachesCopy
	if settings.Inbound == nil {
		settings.Inbound = t.inbound()
	}
	point, err := checkpoint.Take(ctx, h, change, settings)
	if err != nil {
		return nil, ctx, err
	}
	g := &Guard{point: point, all: t.All}
	ctx, g.end = context.WithCancelCause(ctx)
	return g, ctx, nil
}

// inbound returns a function that asks the node's peers to connect to its ports for a checkpoint,
// or nil if there is no API. An API that returns no peers is no error: many nodes have no account
// that may read Nodes. The connections to the API are new ones, because existing ones may have
// survived the change.
func (t Taker) inbound() probe.Knocks {
	if t.API == nil || t.Node == "" {
		return nil
	}
	api := t.API.Separate()
	return func(
		ctx context.Context, ports []uint16, peers []string, done func(map[string][]string) bool,
	) (map[string][]string, error) {
		said, err := inbound.Ask(ctx, api, api.NodeName(t.Node), ports, peers, done)
		if err != nil && peers == nil {
			t.Log.Info("no peer knocks: it is not proved that other nodes reach this one", zap.Error(err))
			return nil, nil
		}
		return said, err
	}
}
