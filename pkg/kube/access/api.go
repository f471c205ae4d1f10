// Package access reaches the Kubernetes API with the kubeconfigs that are on the node: the agent's
// own and kubelet's.
package access

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/problem"
)

// API has a client for each kubeconfig. It makes a new client when the kubeconfig changes. A nil
// API is none.
type API struct {
	// Kubeconfig is the path of the agent's own kubeconfig, which need not exist.
	Kubeconfig string
	Options    kube.Options

	mu    sync.Mutex
	files map[string]*kube.Kubeconfig // by path
	seen  seen
	own   []string // kubeconfigs that may write the node's own Node, as the last pass found them
	node  string   // name that kubelet registers, as the last pass found it; "" for the agent's name of the node
	names []string // of all Nodes; nil if they were not read yet
}

// seen is the last answer about Nodes, and the client that got it. Changed watches for a newer one.
type seen struct {
	client  *kube.Client
	name    string // "" for all Nodes
	nodes   []kube.Node
	version string
}

// Identities returns the kubeconfigs on a node: the agent's own first if ownFirst, otherwise
// kubelet's first.
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

// Client returns the client of a kubeconfig. The kubeconfig may be written or changed after the
// agent starts.
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

// As calls do with the client of each kubeconfig in turn, until one succeeds. The error joins those
// of all. It matches [io/fs.ErrNotExist] only if the server answered so, or if no kubeconfig
// exists. It does not match because one of several kubeconfigs is missing.
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
	return errors.Join(append(withoutRefusals(errs), missing)...)
}

// withoutRefusals omits the refusals of a server if it did not serve another identity, which may
// have the permission. A message about RBAC would mislead its reader during an outage. It also
// omits an error with the text of the one before: the server answered both identities alike.
func withoutRefusals(errs []error) []error {
	errs = slices.CompactFunc(errs, func(a, b error) bool { return a.Error() == b.Error() })
	if !slices.ContainsFunc(errs, graph.IsTransient) {
		return errs
	}
	return slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, fs.ErrPermission) })
}

// textOnly is the error of a missing kubeconfig that must not match fs.ErrNotExist, because another
// kubeconfig exists.
type textOnly struct{ err error }

func (e textOnly) Error() string { return e.err.Error() }

// Met records the kubeconfigs and the node name that a pass found on the host.
func (a *API) Met(facts *host.Facts) {
	if a == nil {
		return
	}
	own := a.Identities(facts, false)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.own, a.node = own, facts.Kubelet.NodeName("")
}

// NodeName returns the name of the node's own Node. node is the agent's name of it, which counts if
// no pass found kubelet's.
func (a *API) NodeName(node string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.node, node)
}

// errNoPass is the error before the first pass, which finds kubelet's kubeconfig.
var errNoPass = problem.Missing("speak to the Kubernetes API: no pass was made yet")

// errNoKubelet is the error on a node where no pass has found kubelet's kubeconfig.
var errNoKubelet = problem.Missing("kubelet's credentials are not known yet")

// Own calls do with the clients that may write the node's own Node, until one succeeds: kubelet's,
// with the kubeconfig that the last pass found, or the agent's own. It runs outside of passes. The
// error matches [io/fs.ErrNotExist] while kubelet has no kubeconfig and the agent's own fails. A
// later attempt may succeed then.
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
		if errors.Is(err, fs.ErrNotExist) { // this says nothing about the other kubeconfigs
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
	if !kubelets { // kubelet may get its kubeconfig later, and it may do what the others may not
		errs = append(errs, none)
	}
	return errors.Join(withoutRefusals(errs)...)
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

// Changed waits until a Node has other pod CIDRs than at the last read, or another address, and
// returns nil. It returns [errors.ErrUnsupported] if no Node was read.
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
