package kube

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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

// Objects are those of one kind in a namespace.
type Objects struct {
	client    *Client
	kind      Kind
	namespace string
}

// Objects are those of a kind in a namespace. Nobody is asked.
func (c *Client) Objects(kind Kind, namespace string) Objects { return Objects{c, kind, namespace} }

func (o Objects) request(verb, name string) apiRequest {
	return apiRequest{verb: verb, resource: string(o.kind), namespace: o.namespace, name: name}
}

// Get reads one. Absent is [fs.ErrNotExist].
func (o Objects) Get(ctx context.Context, name string) (*Object, error) {
	into := o.kind.empty()
	if err := o.client.do(ctx, o.request("get", name), nil, into); err != nil {
		return nil, err
	}
	return into.object(), nil
}

// Version is an object's Version alone, which costs a request whose answer has none of its data.
func (o Objects) Version(ctx context.Context, name string) (string, error) {
	var into partialObject
	w := o.request("get", name)
	err := o.client.send(ctx, w, o.client.to(w).SetHeader("Accept", onlyMetadata), &into)
	return into.Metadata.ResourceVersion, err
}

// Create makes an object that must not be there: else [fs.ErrExist]. Labels and data are the
// caller's.
func (o Objects) Create(ctx context.Context, object Object) error {
	return o.write(ctx, "create", object)
}

// Update replaces an object that is as it was read, by its Version: else [ErrConflict].
func (o Objects) Update(ctx context.Context, object Object) error {
	return o.write(ctx, "update", object)
}

func (o Objects) write(ctx context.Context, verb string, object Object) error {
	return o.client.do(ctx, o.request(verb, object.Name), o.kind.full(object), nil)
}

// List calls each with every object that has these labels, in no order. A namespace that is not
// there has none.
func (o Objects) List(ctx context.Context, with map[string]string, each func(*Object) error) (err error) {
	w, selector := o.request("list", ""), labels.SelectorFromSet(with).String()
	if o.kind == Secret {
		_, err = list(ctx, o.client, w, selector, "", func(s *secretObject) error { return each(s.object()) })
	} else {
		_, err = list(ctx, o.client, w, selector, "", func(m *configMapObject) error { return each(m.object()) })
	}
	return err
}

// Delete removes an object. One that is not there is success.
func (o Objects) Delete(ctx context.Context, name string) error {
	err := o.client.do(ctx, o.request("delete", name), nil, nil)
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
