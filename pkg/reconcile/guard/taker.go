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

// Taker takes checkpoints for one who changes a host.
type Taker struct {
	Running    bool                // false: there is nothing to be cut off from
	Settings   checkpoint.Settings // how it is probed
	Log        *zap.Logger
	API        *access.API // asks the node's peers to knock on its ports; nil: nobody does
	Node       string      // its name there, "" where it has none
	CachesCopy bool        // the copy of the agent that undoes is kept for the next checkpoint
	All        bool        // also of changes that are proved harmless
}

// Take takes down how everything is that changes, and returns the context of the run. The guard is
// nil where there is nothing to be cut off from.
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

// inbound has the node's peers knock on its ports for a checkpoint; nil where there is no API to
// ask them by. An API that gives none is nothing to mend: many have no account that may read Nodes.
// The connections are new ones: those that there are may have lived through the change.
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
			t.Log.Info("no peer knocks: that others reach the node is not proved", zap.Error(err))
			return nil, nil
		}
		return said, err
	}
}
