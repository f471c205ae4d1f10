package reconcile

import (
	"context"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/inbound"
)

// inbound has the node's peers knock on its ports for a checkpoint; nil where there is no API to
// ask them by. An API that gives none is nothing to mend: many have no account that may read Nodes.
// The connections are new ones: those that there are may have lived through the change.
func (p Pass) inbound(r *run) checkpoint.Knocks {
	if p.API == nil || r.desired == nil || r.desired.Node.Name == "" {
		return nil
	}
	node, api := r.desired.Node.Name, p.API.Alone()
	return func(
		ctx context.Context, ports []uint16, peers []string, done func(map[string][]string) bool,
	) (map[string][]string, error) {
		said, err := inbound.Ask(ctx, api, node, ports, peers, done)
		if err != nil && peers == nil {
			p.Log.Info("no peer knocks: that others reach the node is not proved", zap.Error(err))
			return nil, nil
		}
		return said, err
	}
}

// MidChange says that a change of this node is under way, or awaits its confirmation.
func (p Pass) MidChange() bool {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return true
	}
	defer files.Close() // only read from
	return checkpoint.UnderWay(files)
}
