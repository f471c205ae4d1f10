// Package kubernetes keeps a published cluster in a namespace of the Kubernetes API: the manifest
// and the objects in ConfigMaps, what is confidential in Secrets, an object that is too big for one
// in several.
//
//	<cluster>.manifest        ConfigMap     the only one that changes
//	<cluster>.<sha256>        ConfigMap, or Secret; immutable
//	<cluster>.<sha256>.<n>    its further parts, where it has any
//	<cluster>.<n>-<sha256>    ConfigMap: the record of a generation; immutable
//	<cluster>.prune           ConfigMap: who prunes, or did last
//
// What only control plane nodes read is in a namespace of its own, <namespace>-control-plane, in
// Secrets: a rule of RBAC cannot match names by how they begin.
//
// Who reads it needs a ServiceAccount of its own: a kubelet may read neither kind, unless a pod of
// its node uses it. Assets are not kept here: etcd is no place for them.
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
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Namespace is a cluster's part of a namespace.
type Namespace struct {
	name, cluster string
	file          *kube.Kubeconfig
}

// Options is how the API is spoken to.
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

	dataKey  = "object" // of a ConfigMap or Secret: the bytes
	partsKey = "parts"  // of the first of several: how many there are

	// A ConfigMap has room for 1 MiB with its names (MaxSecretSize of k8s.io/api/core/v1).
	partSize = 768 << 10
	maxParts = 128
)

// label marks what we make, for people and for kubectl.
var label = map[string]string{"app.kubernetes.io/managed-by": "netwright"}

const maxCluster = 253 - len(".0123456789012345678901234567890123456789012345678901234567890123.999")

// leads says that the name of an API object may begin with this one.
func leads(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// New names a cluster's part of a namespace. It asks nobody, and the kubeconfig need not be there
// yet.
func New(namespace, cluster string, o Options) (*Namespace, error) {
	switch {
	case len(validation.IsDNS1123Label(namespace)) > 0:
		return nil,
			fmt.Errorf("%q is no name of a Kubernetes namespace: write k8s://NAMESPACE, in lower case", namespace)
	case !leads(cluster) || len(cluster) > maxCluster:
		return nil, fmt.Errorf("cluster %q cannot lead the name of a ConfigMap: that takes lower-case letters, "+
			"digits, dots and hyphens, at most %d", cluster, maxCluster)
	}
	return &Namespace{name: namespace, cluster: cluster,
		file: &kube.Kubeconfig{Path: cmp.Or(o.Kubeconfig, kube.DefaultKubeconfig), Options: o.Options}}, nil
}

// String implements [objectstore.Source].
func (n *Namespace) String() string { return "k8s://" + n.name + "/" + n.cluster }

// api is the client. The kubeconfig may come later than the agent, and change.
func (n *Namespace) api() (*kube.Client, error) {
	client, err := n.file.Client()
	if errors.Is(err, fs.ErrNotExist) { // not the cluster: that may well be there
		return nil, fmt.Errorf("there is no kubeconfig %s: put one there that may read namespace %s, or name another "+
			"as kubeconfig in agent.yaml", n.file.Path, n.name)
	}
	return client, err
}

// controlPlaneOf is the namespace of what only control plane nodes read.
func (n *Namespace) controlPlaneOf() string { return n.name + "-control-plane" }

// named is the namespace and the name of the API object that holds a name of the store.
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
	return "", "", fmt.Errorf("%q is not kept in a Kubernetes namespace, which has no room for assets: name them in "+
		"spec.assets by https:// or s3:// URLs: %w", name, fs.ErrNotExist)
}

// find is named, with a client for it.
func (n *Namespace) find(name string) (api *kube.Client, namespace, at string, err error) {
	if namespace, at, err = n.named(name); err == nil {
		api, err = n.api()
	}
	return api, namespace, at, err
}

// Get implements [objectstore.Source]. The ETag is the resourceVersion; what is known costs a look
// at the metadata alone.
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

// whole puts the parts of an object together.
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

// Open implements [objectstore.Source]: there are no assets here.
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
