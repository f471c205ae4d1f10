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

// Object is a ConfigMap or a Secret.
type Object struct {
	Name    string
	Labels  map[string]string
	Data    secret.Contents
	Fixed   bool      // immutable: the server refuses changes, and kubelets need no watch
	Version string    // resourceVersion; differs after each change
	Changed time.Time // time of the last write, by the server's clock
}

// Kind is the resource of an Object.
type Kind string

// The kinds of an Object.
const (
	ConfigMap Kind = "configmaps"
	Secret    Kind = "secrets"
)

// Objects reads and writes the objects of one kind in a namespace.
type Objects struct {
	client    *Client
	kind      Kind
	namespace string
}

// Objects returns the Objects of a kind in a namespace. It sends no request.
func (c *Client) Objects(kind Kind, namespace string) Objects { return Objects{c, kind, namespace} }

func (o Objects) request(verb, name string) apiRequest {
	return apiRequest{verb: verb, resource: string(o.kind), namespace: o.namespace, name: name}
}

// Get reads an object. The error matches [fs.ErrNotExist] if there is none.
func (o Objects) Get(ctx context.Context, name string) (*Object, error) {
	into := o.kind.empty()
	if err := o.client.do(ctx, o.request("get", name), nil, into); err != nil {
		return nil, err
	}
	return into.object(), nil
}

// Version returns the version of an object. It reads only the metadata.
func (o Objects) Version(ctx context.Context, name string) (string, error) {
	var into partialObject
	w := o.request("get", name)
	err := o.client.send(ctx, w, o.client.to(w).SetHeader("Accept", onlyMetadata), &into)
	return into.Metadata.ResourceVersion, err
}

// Create creates an object. The error matches [fs.ErrExist] if it exists already.
func (o Objects) Create(ctx context.Context, object Object) error {
	return o.write(ctx, "create", object)
}

// Update replaces an object if its version is still object.Version. Otherwise it returns
// [ErrConflict].
func (o Objects) Update(ctx context.Context, object Object) error {
	return o.write(ctx, "update", object)
}

func (o Objects) write(ctx context.Context, verb string, object Object) error {
	return o.client.do(ctx, o.request(verb, object.Name), o.kind.full(object), nil)
}

// List calls each for every object that has these labels, in no order. A namespace that does not
// exist has no objects.
func (o Objects) List(ctx context.Context, with map[string]string, each func(*Object) error) (err error) {
	w, selector := o.request("list", ""), labels.SelectorFromSet(with).String()
	if o.kind == Secret {
		_, err = list(ctx, o.client, w, selector, "", func(s *secretObject) error { return each(s.object()) })
	} else {
		_, err = list(ctx, o.client, w, selector, "", func(m *configMapObject) error { return each(m.object()) })
	}
	return err
}

// Delete removes an object. It succeeds if the object does not exist.
func (o Objects) Delete(ctx context.Context, name string) error {
	err := o.client.do(ctx, o.request("delete", name), nil, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// stored is an Object in the form of the API.
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

// object returns both parts of a ConfigMap: data, which is text, and binaryData.
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
