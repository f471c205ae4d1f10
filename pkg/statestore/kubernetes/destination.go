package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
)

// Put implements [objectstore.Destination].
func (n *Namespace) Put(ctx context.Context, name string, data []byte) error {
	return n.put(ctx, kube.ConfigMap, name, data)
}

// PutConfidential implements [objectstore.Confidential] with Secrets.
func (n *Namespace) PutConfidential(ctx context.Context, name string, data []byte) error {
	return n.put(ctx, kube.Secret, name, data)
}

// put creates the first part last: when the first part exists, all parts do.
func (n *Namespace) put(ctx context.Context, kind kube.Kind, name string, data []byte) error {
	api, namespace, at, err := n.find(name)
	if err != nil {
		return err
	}
	parts := max(1, (len(data)+partSize-1)/partSize)
	if parts > maxParts {
		return fmt.Errorf("put %s into %s: it has %d bytes, and a namespace takes %d: keep the store in S3 or behind "+
			"https", name, n, len(data), maxParts*partSize)
	}
	for i := parts - 1; i >= 0; i-- {
		one := kube.Object{Name: at, Labels: label, Fixed: true,
			Data: map[string][]byte{dataKey: data[i*partSize : min((i+1)*partSize, len(data))]}}
		switch {
		case i > 0:
			one.Name = partName(at, i)
		case parts > 1:
			one.Data[partsKey] = strconv.AppendInt(nil, int64(parts), 10)
		}
		switch err := api.Objects(kind, namespace).Create(ctx, one); {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: make the namespace %s, and the account that reads it, as docs/kubernetes.yaml does",
				err, namespace)
		case err != nil && !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return nil
}

// maxManifest is the maximum size of a manifest in bytes. It must fit into one ConfigMap, because
// it is replaced in one write.
const maxManifest = 1<<20 - 4<<10

// Replace implements [objectstore.Destination].
func (n *Namespace) Replace(ctx context.Context, name string, data []byte, known string) error {
	api, namespace, at, err := n.find(name)
	if err != nil {
		return err
	}
	if len(data) > maxManifest {
		return fmt.Errorf("put %s into %s: it has %d bytes, and a ConfigMap takes %d: keep the store in S3 or behind "+
			"https", name, n, len(data), maxManifest)
	}
	whole := kube.Object{Name: at, Labels: label, Version: known, Data: map[string][]byte{dataKey: data}}
	if known == "" {
		err = api.Objects(kube.ConfigMap, namespace).Create(ctx, whole)
	} else {
		err = api.Objects(kube.ConfigMap, namespace).Update(ctx, whole)
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, kube.ErrConflict) ||
		known != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", objectstore.ErrConflict, err)
	}
	return err
}
