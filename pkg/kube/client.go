// Package kube speaks to the Kubernetes API: the few objects that a node's network hangs on, and no
// more. ConfigMaps and Secrets of a namespace are a state store, Nodes say pod CIDRs and who the
// peers are, and a CertificateSigningRequest brings a certificate.
//
// Beneath it is client-go's REST client and nothing above that (docs/adr/0012): it knows
// kubeconfigs with the credentials that clouds put into them, reads tokens and certificates again
// when their files are renewed, and waits as long as a server asks for. What is said to the caller
// is ours: small structs, errors that name the rule which is missing, and whether it is worth
// another try.
package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Client speaks to one API server as one identity. It is safe for several goroutines. It opens no
// connection before the first request, and has one that all requests share.
type Client struct {
	core, certificates *rest.RESTClient
	kubeconfig         string
	authorities        []byte
	authoritiesFile    string // from where; "": from the kubeconfig itself
}

// Options is how a client behaves.
type Options struct {
	// OnlyFiles refuses credentials that a program has to be started for (a kubeconfig's exec), for
	// a dry run.
	OnlyFiles bool
	Version   string // of the agent, for the server's audit log
	// OwnConnections gives the client connections of its own, for a probe; else all clients of one
	// configuration share theirs, as do those whose credentials come from a program.
	OwnConnections bool
}

// Bounds of a request, so that a pass never hangs on an API that is gone.
const (
	answerTime = 10 * time.Second // with all retries that the server asks for (Retry-After)
	retries    = 3
	pageSize   = 200 // objects of a list at a time, fewer where that is more than an answer may have
	ownIdle    = 5 * time.Second
)

// description is the API's of itself: some 100 KiB, for everybody who is known to it.
const description = "/openapi/v3/api/v1"

// Answer reads an answer of the server, up to a limit in bytes. A refusal is an answer too. A
// checkpoint probes by it, and it may be retried.
func (c *Client) Answer(ctx context.Context, limit int64) error {
	body, err := c.core.Get().AbsPath(description).MaxRetries(0).Stream(ctx)
	if said := apierrors.APIStatus(nil); errors.As(err, &said) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close() // nothing is kept
	if _, err = io.Copy(io.Discard, io.LimitReader(body, limit)); err == nil {
		err = context.Cause(ctx) // a server may end an answer because its client goes
	}
	return err
}

// connect gives the client its way to the server.
func connect(c Client, how *rest.Config) (*Client, error) {
	known := runtime.NewScheme() // client-go reads a server's refusals itself, and no object
	metav1.AddToGroupVersion(known, coreVersion)
	how.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	shared, err := rest.HTTPClientFor(how)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig %s: %w: look at its certificates and keys", c.kubeconfig, err)
	}
	for _, g := range []struct {
		to      **rest.RESTClient
		path    string
		version schema.GroupVersion
	}{{&c.core, "/api", coreVersion}, {&c.certificates, "/apis", certificatesVersion}} {
		one := rest.CopyConfig(how)
		one.APIPath, one.GroupVersion = g.path, &g.version
		if *g.to, err = rest.RESTClientForConfigAndClient(one, shared); err != nil {
			return nil, fmt.Errorf("use the kubeconfig %s: %w", c.kubeconfig, err)
		}
	}
	return &c, nil
}

// Server is where the API is, for messages.
func (c *Client) Server() string { return c.core.Get().AbsPath("/").URL().Host }

// Authorities are the CAs that the kubeconfig trusts to sign for the API's servers, PEM; nil: those
// of the system.
func (c *Client) Authorities() []byte { return c.authorities }

// methods are HTTP's for the verbs of RBAC.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost,
	"update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete,
}

// to begins a request.
func (c *Client) to(w apiRequest) *rest.Request {
	api := c.core
	if w.group != "" {
		api = c.certificates
	}
	resource, part, _ := strings.Cut(w.resource, "/")
	request := api.Verb(methods[w.verb]).NamespaceIfScoped(w.namespace, w.namespace != "").Resource(resource)
	switch w.verb {
	case "patch":
		return request.Name(w.name).SubResource(part).SetHeader("Content-Type", string(w.patch))
	case "get", "update", "delete":
		return request.Name(w.name)
	}
	return request
}

// do makes a request, with an object if there is one, and decodes the answer.
func (c *Client) do(ctx context.Context, w apiRequest, object, into any) error {
	request := c.to(w)
	if object != nil {
		body, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("write what is to %s: %w", w, err)
		}
		request.Body(body)
	}
	return c.send(ctx, w, request, into)
}

// send makes a request and decodes the answer, again where the server asks for it. It is bounded in
// time, whatever the server does.
func (c *Client) send(ctx context.Context, w apiRequest, request *rest.Request, into any) error {
	if request.MaxRetries(retries); w.once {
		request.MaxRetries(0)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %s", answerTime))
	defer cancel()
	result := request.Do(bounded)
	err := result.Error()
	if err == nil && into != nil {
		var body []byte
		body, _ = result.Raw() // its error is that of the result
		err = json.Unmarshal(body, into)
	}
	return c.explain(ctx, bounded, w, err)
}
