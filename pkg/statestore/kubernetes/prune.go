package kubernetes

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/lazyregexp"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// objectNames matches the name of an API object behind the cluster's name: the sha256 of an object
// or the record of a generation, and the number of a further part.
var objectNames = lazyregexp.New(`^(?:([0-9]+-)?[0-9a-f]{64})(?:\.[0-9]+)?$`)

// List implements [objectstore.Destination]. It lists an object of several parts once.
func (n *Namespace) List(ctx context.Context, prefix string, each func(objectstore.Listed) error) error {
	api, err := n.api()
	if err != nil {
		return err
	}
	all := map[string]*objectstore.Listed{}
	for _, in := range []struct {
		kind           kube.Kind
		namespace, dir string
	}{{kube.ConfigMap, n.name, objects}, {kube.Secret, n.name, objects},
		{kube.Secret, n.controlPlaneOf(), controlPlane}} {
		if err := api.Objects(in.kind, in.namespace).List(ctx, label, func(o *kube.Object) error {
			name := n.storeName(o.Name, in.dir)
			if name == "" || !strings.HasPrefix(name, prefix) {
				return nil
			}
			one := all[name]
			if one == nil {
				one = &objectstore.Listed{Name: name}
				all[name] = one
			}
			one.Size += int64(len(o.Data[dataKey]))
			if o.Changed.After(one.Put) {
				one.Put = o.Changed
			}
			return nil
		}); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := each(*all[name]); err != nil {
			return err
		}
	}
	return nil
}

// storeName returns the name in the store of an API object. It returns "" if the API object does
// not belong to this cluster.
func (n *Namespace) storeName(at, dir string) string {
	rest, ours := strings.CutPrefix(at, n.cluster+".")
	first, _, _ := strings.Cut(rest, ".")
	switch {
	case ours && (rest == manifest || rest == prune):
		return rest
	case !ours || !objectNames().MatchString(rest):
		return ""
	case strings.Contains(first, "-"):
		return records + first
	}
	return dir + first
}

// Remove implements [objectstore.Destination]. It removes the first part last. If Remove fails
// before that, a later prune finds the first part and removes the rest.
func (n *Namespace) Remove(ctx context.Context, name string) error {
	api, namespace, at, err := n.find(name)
	if err != nil {
		return err
	}
	kinds := []kube.Kind{kube.ConfigMap, kube.Secret}
	if namespace != n.name {
		kinds = kinds[1:]
	}
	for _, kind := range kinds {
		of := api.Objects(kind, namespace)
		first, err := of.Get(ctx, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		parts, _ := strconv.Atoi(string(first.Data[partsKey])) // an object with only one part has no such key
		for i := min(parts, maxParts) - 1; i > 0; i-- {
			if err := of.Delete(ctx, partName(at, i)); err != nil {
				return err
			}
		}
		if err := of.Delete(ctx, at); err != nil {
			return err
		}
	}
	return nil
}
