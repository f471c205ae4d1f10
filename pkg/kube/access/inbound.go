package access

import (
	"context"
	"slices"

	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube"
)

// Peers is the way by which nodes ask each other to knock.
func (a *API) Peers() inbound.API { return peersAPI{api: a} }

// Separate is the same way over connections of its own. A daemon that has read the names of the
// Nodes does not read them again for each change: it reads them now and then, to know for whom it
// knocks.
func (a *API) Separate() inbound.API {
	a.mu.Lock()
	defer a.mu.Unlock()
	other := &API{Kubeconfig: a.Kubeconfig, Options: a.Options, own: a.own, node: a.node}
	other.Options.OwnConnections = true
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
