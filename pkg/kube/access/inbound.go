package access

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube"
)

// Peers returns the API through which nodes request probes of each other.
func (a *API) Peers() inbound.API { return peersAPI{api: a} }

// Separate returns the same API with connections of its own. It takes over the names of the Nodes
// that a daemon has read. The daemon reads the names now and then, and Separate does not read them
// again for each change.
func (a *API) Separate() inbound.API {
	a.mu.Lock()
	defer a.mu.Unlock()
	other := &API{Kubeconfig: a.Kubeconfig, Options: a.Options, own: a.own, node: a.node}
	other.Options.OwnConnections = true
	return peersAPI{other, a.names}
}

type peersAPI struct {
	api   *API
	names []string // of the known Nodes; nil to read them
}

// others calls do for Nodes of other nodes, with each client until one succeeds. It begins with the
// agent's own.
func (a peersAPI) others(ctx context.Context, do func(*kube.Client) error) error {
	a.api.mu.Lock()
	identities := slices.Clone(a.api.own)
	a.api.mu.Unlock()
	if len(identities) == 0 {
		return errNoPass
	}
	slices.Reverse(identities)
	return a.api.As(ctx, identities, do)
}

func (a peersAPI) NodeName(node string) string { return a.api.NodeName(node) }

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
