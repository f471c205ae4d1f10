// Package access is the Kubernetes API as this node may ask it: by the kubeconfigs that are on the
// node, the agent's own and kubelet's.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
)

// API is the way to the Kubernetes API. Its clients live as long as their kubeconfigs are the same.
// Nil is none.
type API struct {
	// Kubeconfig is the agent's own, which need not be there.
	Kubeconfig string
	Options    kube.Options

	mu    sync.Mutex
	files map[string]*kube.Kubeconfig // by path
	seen  seen
	own   []string // identities for the node's own Node, as the last pass found them
	node  string   // what its kubelet calls it, so too; "": what the agent calls it
	names []string // of all Nodes, when they were last read; nil: not yet
}

// seen is what the API said last, and as whom it was asked: that is watched.
type seen struct {
	client  *kube.Client
	name    string // "": all Nodes
	nodes   []kube.Node
	version string
}

// Identities are the kubeconfigs on a node, those that may do more of what is wanted first.
func (a *API) Identities(facts *host.Facts, ownFirst bool) []string {
	out := []string{a.Kubeconfig}
	if kubelet := facts.Kubelet.Kubeconfig; kubelet != "" {
		out = append(out, kubelet)
		if !ownFirst {
			out[0], out[1] = out[1], out[0]
		}
	}
	return out
}

// Client is that of a kubeconfig, which may come later than the agent, and change.
func (a *API) Client(path string) (*kube.Client, error) {
	a.mu.Lock()
	file := a.files[path]
	if file == nil {
		if a.files == nil {
			a.files = map[string]*kube.Kubeconfig{}
		}
		file = &kube.Kubeconfig{Path: path, Options: a.Options}
		a.files[path] = file
	}
	a.mu.Unlock()
	return file.Client()
}

// As does something as the first identity that may. The error is all of theirs. A kubeconfig that
// is not there says nothing of what the others meet: the error is [io/fs.ErrNotExist] only where
// the server says so, or where there is no kubeconfig at all.
func (a *API) As(ctx context.Context, identities []string, do func(*kube.Client) error) error {
	var errs []error
	var missing error
	for _, path := range identities {
		c, err := a.Client(path)
		if errors.Is(err, fs.ErrNotExist) {
			missing = errors.Join(missing, err)
			continue
		}
		if err == nil {
			err = do(c)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 && missing != nil {
		missing = textOnly{missing}
	}
	return errors.Join(append(errs, missing)...)
}

// textOnly is an error of which nobody asks what it is: a kubeconfig that is not there, where
// others met something else.
type textOnly struct{ err error }

func (e textOnly) Error() string { return e.err.Error() }

// Met takes note of what a pass found of the host.
func (a *API) Met(facts *host.Facts) {
	if a == nil {
		return
	}
	own := a.Identities(facts, false)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own, a.node = own, facts.Kubelet.NodeName("")
}

// NodeName is the name of the node's own Node, of which the agent has this one.
func (a *API) NodeName(node string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.node, node)
}

// errNoPass says that nobody knows yet whose credentials are kubelet's.
var errNoPass = fmt.Errorf("speak to the Kubernetes API: no pass was made yet: %w", fs.ErrNotExist)

// errNoKubelet is that of a node on which no pass has found credentials of kubelet's.
var errNoKubelet = fmt.Errorf("kubelet's credentials are not known yet: %w", fs.ErrNotExist)

// Own does something to the node's own Node, as the first identity that may: kubelet, as the last
// pass found its kubeconfig, or the agent itself. Nobody holds a pass up with it. It is
// [io/fs.ErrNotExist] while there is no kubeconfig of kubelet's, and the agent's own is of no use:
// then it may come.
func (a *API) Own(ctx context.Context, do func(*kube.Client) error) error {
	a.mu.Lock()
	own := a.own
	a.mu.Unlock()
	if own == nil {
		return errNoPass
	}
	var errs []error
	none, kubelets := errNoKubelet, false
	for _, path := range own {
		c, err := a.Client(path)
		if errors.Is(err, fs.ErrNotExist) { // it says nothing of what the others meet
			none = err
			continue
		}
		kubelets = kubelets || path != a.Kubeconfig
		if err == nil {
			err = do(c)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	if !kubelets { // they are on their way: what the others may not, these may
		errs = append(errs, none)
	}
	return errors.Join(errs...)
}

// Node reads the node's own Node.
func (a *API) Node(ctx context.Context, facts *host.Facts, name string) (node *kube.Node, err error) {
	err = a.As(ctx, a.Identities(facts, false), func(c *kube.Client) error {
		if node, err = c.Node(ctx, name); err == nil {
			a.saw(seen{client: c, name: name, nodes: []kube.Node{*node}, version: node.Version})
		}
		return err
	})
	return node, err
}

// Nodes reads all Nodes.
func (a *API) Nodes(ctx context.Context, facts *host.Facts) (nodes []kube.Node, err error) {
	err = a.As(ctx, a.Identities(facts, true), func(c *kube.Client) error {
		var version string
		if nodes, version, err = c.Nodes(ctx); err == nil {
			a.saw(seen{client: c, nodes: nodes, version: version})
		}
		return err
	})
	return nodes, err
}

func (a *API) saw(s seen) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = s
}

// Changed waits until the Nodes say something else of the pods' ranges than they did when they were
// last read, and returns nil. Where nothing was read it returns [errors.ErrUnsupported].
func (a *API) Changed(ctx context.Context) error {
	if a == nil {
		return errors.ErrUnsupported
	}
	a.mu.Lock()
	last := a.seen
	a.mu.Unlock()
	if last.client == nil {
		return errors.ErrUnsupported
	}
	return last.client.NodesChanged(ctx, last.name, last.nodes, last.version)
}
