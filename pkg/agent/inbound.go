package agent

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube"
)

// inbound has the node's peers knock on its ports for a checkpoint; nil where there is no API to
// ask them by. An API that gives none is nothing to mend: many have no account that may read Nodes.
// The connections are new ones: those that there are may have lived through the change.
func (p Pass) inbound(r *run) checkpoint.Knocks {
	if p.API == nil || r.desired == nil || r.desired.Node.Name == "" {
		return nil
	}
	node, api := r.desired.Node.Name, p.API.alone()
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

// Peers is the way by which nodes ask each other to knock.
func (a *API) Peers() inbound.API { return peersAPI{api: a} }

// alone is the same way over connections of its own. A daemon that has read the names of the Nodes
// does not read them again for each change: it reads them now and then, to know for whom it knocks.
func (a *API) alone() inbound.API {
	a.mu.Lock()
	defer a.mu.Unlock()
	other := &API{Kubeconfig: a.Kubeconfig, Options: a.Options, own: a.own}
	other.Options.Alone = true
	return peersAPI{other, a.names}
}

type peersAPI struct {
	api   *API
	names []string // that are known; nil: they are read
}

// others does something that concerns Nodes of others, as the first identity that may: our own
// first.
func (a peersAPI) others(ctx context.Context, do func(*kube.Client) error) error {
	a.api.mu.Lock()
	identities := slices.Clone(a.api.own)
	a.api.mu.Unlock()
	if len(identities) == 0 {
		return errNoPass
	}
	slices.Reverse(identities)
	return a.api.as(ctx, identities, do)
}

func (a peersAPI) Names(ctx context.Context) (names []string, err error) {
	if a.names != nil {
		return a.names, nil
	}
	err = a.others(ctx, func(c *kube.Client) error {
		names, err = c.NodeNames(ctx)
		return err
	})
	a.api.mu.Lock()
	defer a.api.mu.Unlock()
	if err == nil {
		a.api.names = names
	}
	return names, err
}

func (a peersAPI) Node(ctx context.Context, name string) (n *kube.Node, err error) {
	err = a.others(ctx, func(c *kube.Client) error {
		n, err = c.Node(ctx, name)
		return err
	})
	return n, err
}

func (a peersAPI) Changed(ctx context.Context, name, version string) error {
	return a.others(ctx, func(c *kube.Client) error {
		return c.Changed(ctx, kube.Watched{Resource: "nodes", Name: name, Version: version})
	})
}

func (a peersAPI) Annotate(ctx context.Context, own, key, value string) error {
	return a.api.Own(ctx, func(c *kube.Client) error { return c.Annotate(ctx, own, key, value) })
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
