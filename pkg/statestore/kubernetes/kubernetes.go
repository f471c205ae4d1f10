// Package kubernetes stores a published cluster in a namespace of the Kubernetes API. The manifest
// and the objects are ConfigMaps, and confidential objects are Secrets. An object that is too big
// for one of these is split into parts.
//
//	<cluster>.manifest        ConfigMap     the only one that changes
//	<cluster>.<sha256>        ConfigMap, or Secret; immutable
//	<cluster>.<sha256>.<n>    its further parts, if it has any
//	<cluster>.<n>-<sha256>    ConfigMap: the record of a generation; immutable
//	<cluster>.prune           ConfigMap: which prune runs now, or ran last
//
// Objects that only control plane nodes may read are Secrets in a namespace of their own,
// <namespace>-control-plane, because a rule of RBAC cannot match the beginning of a name.
//
// A node needs a ServiceAccount of its own to read the store: a kubelet may read a ConfigMap or a
// Secret only if a pod of its node uses it. The namespace has no assets, which are too big for
// etcd.
package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Namespace is the part of a namespace that has one cluster.
type Namespace struct {
	name, cluster string
	file          *kube.Kubeconfig
}

// Options say how to reach the API server.
type Options struct {
	Kubeconfig string // path; default kube.DefaultKubeconfig
	kube.Options
}

var (
	_ objectstore.Destination  = (*Namespace)(nil)
	_ objectstore.Watcher      = (*Namespace)(nil)
	_ objectstore.Confidential = (*Namespace)(nil)
)

const (
	manifest = "manifest"
	objects  = "objects/sha256/"

	controlPlane = "objects/control-plane/"
	records      = "generations/"
	prune        = "prune"

	dataKey  = "object" // key of a ConfigMap or Secret: the bytes of the object
	partsKey = "parts"  // key of the first part: the number of parts

	// A ConfigMap with its names holds up to 1 MiB (MaxSecretSize of k8s.io/api/core/v1).
	partSize = 768 << 10
	maxParts = 128
)

// label marks the API objects that we create, for people and for kubectl.
var label = map[string]string{"app.kubernetes.io/managed-by": "netwright"}

const maxCluster = 253 - len(".0123456789012345678901234567890123456789012345678901234567890123.999")

// leads reports whether the name of an API object may begin with name.
func leads(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// New returns the Namespace of a cluster. It sends no request, and the kubeconfig need not exist
// yet.
func New(namespace, cluster string, o Options) (*Namespace, error) {
	switch {
	case len(validation.IsDNS1123Label(namespace)) > 0:
		return nil,
			fmt.Errorf("%q is no name of a Kubernetes namespace: write k8s://NAMESPACE, in lower case", namespace)
	case !leads(cluster) || len(cluster) > maxCluster:
		return nil, fmt.Errorf("cluster %q cannot begin the name of a ConfigMap, which takes lower-case letters, "+
			"digits, dots and hyphens, at most %d", cluster, maxCluster)
	}
	return &Namespace{name: namespace, cluster: cluster,
		file: &kube.Kubeconfig{Path: cmp.Or(o.Kubeconfig, kube.DefaultKubeconfig), Options: o.Options}}, nil
}

// String implements [objectstore.Source].
func (n *Namespace) String() string { return "k8s://" + n.name + "/" + n.cluster }

// api returns the client. It reads the kubeconfig again when that changes, because the kubeconfig
// may be written after the agent starts.
func (n *Namespace) api() (*kube.Client, error) {
	client, err := n.file.Client()
	if errors.Is(err, fs.ErrNotExist) { // the kubeconfig is missing, which says nothing about the cluster
		return nil, fmt.Errorf("there is no kubeconfig %s: put one there that may read namespace %s, or name another "+
			"as kubeconfig in agent.yaml", n.file.Path, n.name)
	}
	return client, err
}

// controlPlaneOf returns the namespace of the objects that only control plane nodes read.
func (n *Namespace) controlPlaneOf() string { return n.name + "-control-plane" }

// named returns the namespace and the name of the API object for a name of the store.
func (n *Namespace) named(name string) (namespace, at string, err error) {
	hash, isObject := strings.CutPrefix(name, objects)
	guarded, isGuarded := strings.CutPrefix(name, controlPlane)
	record, isRecord := strings.CutPrefix(name, records)
	switch {
	case name == manifest, name == prune:
		return n.name, n.cluster + "." + name, nil
	case isRecord && leads(record) && !strings.Contains(record, "."):
		return n.name, n.cluster + "." + record, nil
	case isObject && leads(hash) && !strings.Contains(hash, "."):
		return n.name, n.cluster + "." + hash, nil
	case isGuarded && leads(guarded) && !strings.Contains(guarded, "."):
		return n.controlPlaneOf(), n.cluster + "." + guarded, nil
	}
	return "", "", problem.Missing("%q is not kept in a Kubernetes namespace, which has no room for assets: name them in "+
		"spec.assets by https:// or s3:// URLs", name)
}

// find does what named does, and returns a client too.
func (n *Namespace) find(name string) (api *kube.Client, namespace, at string, err error) {
	if namespace, at, err = n.named(name); err == nil {
		api, err = n.api()
	}
	return api, namespace, at, err
}

// Get implements [objectstore.Source]. The ETag is the resourceVersion. If known is given, Get
// first reads only the metadata.
func (n *Namespace) Get(ctx context.Context, name, known string, limit int64) (objectstore.Object, error) {
	api, namespace, at, err := n.find(name)
	if err != nil {
		return objectstore.Object{}, err
	}
	if known != "" {
		version, err := api.Objects(kube.ConfigMap, namespace).Version(ctx, at)
		if err == nil && version == known {
			return objectstore.Object{}, objectstore.ErrNotModified
		}
		if err != nil {
			return objectstore.Object{}, err
		}
	}
	kind := kube.ConfigMap
	if namespace != n.name {
		kind = kube.Secret
	}
	first, err := api.Objects(kind, namespace).Get(ctx, at)
	if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(name, objects) && kind == kube.ConfigMap {
		kind = kube.Secret
		first, err = api.Objects(kind, namespace).Get(ctx, at)
	}
	if err != nil {
		return objectstore.Object{}, err
	}
	body, err := n.whole(ctx, api, kind, namespace, first, limit)
	return objectstore.Object{Body: body, ETag: first.Version}, err
}

// whole returns the content of an object from all its parts.
func (n *Namespace) whole(
	ctx context.Context, api *kube.Client, kind kube.Kind, namespace string, first *kube.Object, limit int64,
) ([]byte, error) {
	body, ok := first.Data[dataKey]
	if !ok {
		return nil, fmt.Errorf("%s %s in namespace %s has no key %q: it is not of a published cluster, publish again",
			kind, first.Name, namespace, dataKey)
	}
	parts := 1
	if text, several := first.Data[partsKey]; several {
		var err error
		if parts, err = strconv.Atoi(string(text)); err != nil || parts < 2 || parts > maxParts {
			return nil, fmt.Errorf("%s %s in namespace %s: %s is %q, expected a number from 2 to %d: publish again",
				kind, first.Name, namespace, partsKey, text, maxParts)
		}
	}
	for i := 1; i < parts && int64(len(body)) <= limit; i++ {
		next, err := api.Objects(kind, namespace).Get(ctx, partName(first.Name, i))
		if err != nil {
			return nil, err
		}
		body = append(slices.Clip(body), next.Data[dataKey]...)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("%s %s in namespace %s has more than %d bytes: publish again", kind, first.Name,
			namespace, limit)
	}
	return body, nil
}

func partName(first string, i int) string { return first + "." + strconv.Itoa(i) }

// Open implements [objectstore.Source]. It always fails, because a namespace has no assets.
func (n *Namespace) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	_, _, err := n.named("assets/" + strings.TrimPrefix(name, "assets/"))
	return nil, 0, err
}

// Changed implements [objectstore.Watcher].
func (n *Namespace) Changed(ctx context.Context, name, known string) error {
	api, namespace, at, err := n.find(name)
	if err != nil {
		return err
	}
	return api.Changed(ctx,
		kube.Watched{Resource: string(kube.ConfigMap), Namespace: namespace, Name: at, Version: known})
}
