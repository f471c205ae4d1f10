package kube

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/netwright/netwright/pkg/secret"
)

// Object is a ConfigMap or a Secret: names with their bytes.
type Object struct {
	Name    string
	Labels  map[string]string
	Data    secret.Contents
	Fixed   bool      // it never changes: the server refuses it, and need not watch it
	Version string    // resourceVersion: changes with every change of the object, and means nothing else
	Changed time.Time // when it was last written, by the server's clock
}

// Kind is which of the two an Object is.
type Kind string

// The kinds of an Object.
const (
	ConfigMap Kind = "configmaps"
	Secret    Kind = "secrets"
)

// Object reads one. Absent is [fs.ErrNotExist].
func (c *Client) Object(ctx context.Context, kind Kind, namespace, name string) (*Object, error) {
	into := kind.empty()
	request := c.core.Get().Namespace(namespace).Resource(string(kind)).Name(name)
	if err := c.do(ctx, apiRequest{verb: "get", resource: string(kind), namespace: namespace, name: name}, request,
		into); err != nil {
		return nil, err
	}
	return into.object(), nil
}

// Version is an object's Version alone, which costs a request whose answer has none of its data.
func (c *Client) Version(ctx context.Context, kind Kind, namespace, name string) (string, error) {
	var into partialObject
	request := c.core.Get().Namespace(namespace).Resource(string(kind)).Name(name).SetHeader("Accept", onlyMetadata)
	err := c.do(ctx, apiRequest{verb: "get", resource: string(kind), namespace: namespace, name: name}, request, &into)
	return into.Metadata.ResourceVersion, err
}

// Create makes an object that must not be there: else [fs.ErrExist]. Labels and data are the
// caller's.
func (c *Client) Create(ctx context.Context, kind Kind, namespace string, o Object) (*Object, error) {
	return c.write(ctx, apiRequest{verb: "create", resource: string(kind), namespace: namespace, name: o.Name},
		c.core.Post(), kind, o)
}

// Update replaces an object that is as it was read, by its Version: else [ErrConflict].
func (c *Client) Update(ctx context.Context, kind Kind, namespace string, o Object) (*Object, error) {
	return c.write(ctx, apiRequest{verb: "update", resource: string(kind), namespace: namespace, name: o.Name},
		c.core.Put().Name(o.Name), kind, o)
}

// write sends an object, and reads what became of it.
func (c *Client) write(ctx context.Context, w apiRequest, request *rest.Request, kind Kind, o Object) (*Object, error) {
	body, err := encode(w, kind.full(o))
	if err != nil {
		return nil, err
	}
	into := kind.empty()
	err = c.do(ctx, w, request.Namespace(w.namespace).Resource(w.resource).Body(body), into)
	return into.object(), err
}

// Objects tells of all objects of a kind in a namespace that have these labels, in no order. A
// namespace that is not there has none.
func (c *Client) Objects(
	ctx context.Context, kind Kind, namespace string, with map[string]string, each func(*Object) error,
) error {
	var configMaps listOf[configMapObject]
	var secrets listOf[secretObject]
	w := apiRequest{verb: "list", resource: string(kind), namespace: namespace}
	page := func() (any, *listMeta) {
		if kind == Secret {
			secrets = listOf[secretObject]{}
			return &secrets, &secrets.Metadata
		}
		configMaps = listOf[configMapObject]{}
		return &configMaps, &configMaps.Metadata
	}
	return c.pages(ctx, w, labels.SelectorFromSet(with).String(), "", page, func() error {
		for i := range configMaps.Items {
			if err := each(configMaps.Items[i].object()); err != nil {
				return err
			}
		}
		for i := range secrets.Items {
			if err := each(secrets.Items[i].object()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete removes an object. One that is not there is success.
func (c *Client) Delete(ctx context.Context, kind Kind, namespace, name string) error {
	request := c.core.Delete().Namespace(namespace).Resource(string(kind)).Name(name)
	err := c.do(ctx, apiRequest{verb: "delete", resource: string(kind), namespace: namespace, name: name}, request, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// stored is an Object in the API's form.
type stored interface{ object() *Object }

func (k Kind) empty() stored {
	if k == Secret {
		return &secretObject{}
	}
	return &configMapObject{}
}

func (k Kind) full(o Object) stored {
	meta := objectMeta{Name: o.Name, Labels: o.Labels, ResourceVersion: o.Version}
	if k == Secret {
		return &secretObject{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Metadata: meta, Data: o.Data,
			Immutable: o.Fixed, Type: "Opaque"}
	}
	return &configMapObject{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Metadata: meta,
		BinaryData: o.Data, Immutable: o.Fixed}
}

func (o *secretObject) object() *Object { return o.Metadata.object(o.Data) }

// object takes both halves of a ConfigMap: what a person wrote as text and what a program wrote as
// bytes.
func (o *configMapObject) object() *Object {
	data := make(map[string][]byte, len(o.Data)+len(o.BinaryData))
	for name, text := range o.Data {
		data[name] = []byte(text)
	}
	maps.Copy(data, o.BinaryData)
	return o.Metadata.object(data)
}

func (m *objectMeta) object(data secret.Contents) *Object {
	return &Object{Name: m.Name, Labels: m.Labels, Data: data, Version: m.ResourceVersion, Changed: m.changed().Time}
}

func isConflict(err error) bool { return errors.Is(err, ErrConflict) }
