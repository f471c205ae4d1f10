package kube

import (
	"context"
	"errors"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

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
	return objectOf(into), nil
}

// Version is an object's Version alone, which costs a request whose answer has none of its data.
func (c *Client) Version(ctx context.Context, kind Kind, namespace, name string) (string, error) {
	const metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	var into metav1.PartialObjectMetadata
	request := c.core.Get().Namespace(namespace).Resource(string(kind)).Name(name).SetHeader("Accept", metadata)
	err := c.do(ctx, apiRequest{verb: "get", resource: string(kind), namespace: namespace, name: name}, request, &into)
	return into.ResourceVersion, err
}

// Create makes an object that must not be there: else [fs.ErrExist]. Labels and data are the
// caller's.
func (c *Client) Create(ctx context.Context, kind Kind, namespace string, o Object) (*Object, error) {
	request := c.core.Post().Namespace(namespace).Resource(string(kind)).Body(kind.full(o))
	into := kind.empty()
	err := c.do(ctx, apiRequest{verb: "create", resource: string(kind), namespace: namespace, name: o.Name}, request,
		into)
	return objectOf(into), err
}

// Update replaces an object that is as it was read, by its Version: else [ErrConflict].
func (c *Client) Update(ctx context.Context, kind Kind, namespace string, o Object) (*Object, error) {
	request := c.core.Put().Namespace(namespace).Resource(string(kind)).Name(o.Name).Body(kind.full(o))
	into := kind.empty()
	err := c.do(ctx, apiRequest{verb: "update", resource: string(kind), namespace: namespace, name: o.Name}, request,
		into)
	return objectOf(into), err
}

// Objects tells of all objects of a kind in a namespace that have these labels, in no order. A
// namespace that is not there has none.
func (c *Client) Objects(
	ctx context.Context, kind Kind, namespace string, with map[string]string, each func(*Object) error,
) error {
	var maps corev1.ConfigMapList
	var secrets corev1.SecretList
	w := apiRequest{verb: "list", resource: string(kind), namespace: namespace}
	page := func() (runtime.Object, *metav1.ListMeta) {
		if kind == Secret {
			secrets = corev1.SecretList{}
			return &secrets, &secrets.ListMeta
		}
		maps = corev1.ConfigMapList{}
		return &maps, &maps.ListMeta
	}
	return c.pages(ctx, w, labels.SelectorFromSet(with).String(), "", page, func() error {
		for i := range maps.Items {
			if err := each(objectOf(&maps.Items[i])); err != nil {
				return err
			}
		}
		for i := range secrets.Items {
			if err := each(objectOf(&secrets.Items[i])); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete removes an object. One that is not there is success.
func (c *Client) Delete(ctx context.Context, kind Kind, namespace, name string) error {
	request := c.core.Delete().Namespace(namespace).Resource(string(kind)).Name(name)
	err := c.do(ctx, apiRequest{verb: "delete", resource: string(kind), namespace: namespace, name: name}, request,
		&metav1.Status{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (k Kind) empty() runtime.Object {
	if k == Secret {
		return &corev1.Secret{}
	}
	return &corev1.ConfigMap{}
}

func (k Kind) full(o Object) runtime.Object {
	meta := metav1.ObjectMeta{Name: o.Name, Labels: o.Labels, ResourceVersion: o.Version}
	var fixed *bool
	if o.Fixed {
		fixed = &o.Fixed
	}
	if k == Secret {
		return &corev1.Secret{ObjectMeta: meta, Data: o.Data, Immutable: fixed, Type: corev1.SecretTypeOpaque}
	}
	return &corev1.ConfigMap{ObjectMeta: meta, BinaryData: o.Data, Immutable: fixed}
}

// objectOf takes both halves of a ConfigMap: what a person wrote as text and what a program wrote
// as bytes.
func objectOf(raw runtime.Object) *Object {
	switch o := raw.(type) { // the two kinds there are
	case *corev1.Secret:
		return &Object{Name: o.Name, Labels: o.Labels, Data: o.Data, Version: o.ResourceVersion,
			Changed: changed(o.ObjectMeta)}
	case *corev1.ConfigMap:
		data := make(map[string][]byte, len(o.Data)+len(o.BinaryData))
		for name, text := range o.Data {
			data[name] = []byte(text)
		}
		for name, bytes := range o.BinaryData {
			data[name] = bytes
		}
		return &Object{Name: o.Name, Labels: o.Labels, Data: data, Version: o.ResourceVersion,
			Changed: changed(o.ObjectMeta)}
	}
	return nil
}

// changed is when an object was last written: the server notes that for each who writes.
func changed(meta metav1.ObjectMeta) time.Time {
	last := meta.CreationTimestamp.Time
	for _, by := range meta.ManagedFields {
		if by.Time != nil && by.Time.After(last) {
			last = by.Time.Time
		}
	}
	return last
}

func isConflict(err error) bool { return errors.Is(err, ErrConflict) }
