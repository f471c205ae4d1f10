// Package kube reads and writes those objects of the Kubernetes API that a node's network needs:
// ConfigMaps and Secrets of a namespace as a state store, Nodes for pod CIDRs and peers,
// CertificateSigningRequests for certificates.
//
// It uses client-go's REST client and nothing above it (docs/adr/0012). That client reads
// kubeconfigs with the credentials of clouds, reads tokens and certificates again when their files
// change, and obeys Retry-After. This package returns small structs. Its errors name the missing
// RBAC rule, and say whether another attempt may succeed.
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
	"k8s.io/client-go/util/connrotation"
)

// Client sends requests to one address of API servers with one identity. It is safe for concurrent
// use. It connects at the first request. All requests share one connection, until a server does not
// answer or cannot serve one: then the next request may reach another server at that address.
type Client struct {
	core, certificates *rest.RESTClient
	kubeconfig         string
	authorities        []byte
	authoritiesFile    string // path of the authorities; "" if they are in the kubeconfig itself
	dialer             *connrotation.Dialer
}

// Options are the settings of a client.
type Options struct {
	// OnlyFiles refuses a kubeconfig whose credentials come from a program (exec). A dry run sets
	// it.
	OnlyFiles bool
	Version   string // of the agent, for the server's audit log
	// OwnConnections makes connections without HTTP/2 that end soon when they are not used. A probe
	// sets it.
	OwnConnections bool
}

// The limits of a request. A pass must not block on an API server that does not answer.
const (
	answerTime = 10 * time.Second // with all retries after a Retry-After
	retries    = 3
	pageSize   = 200 // objects per page of a list, fewer if the page is larger than maxAnswer
	ownIdle    = 5 * time.Second
)

// description is the path of the API's OpenAPI document: some 100 KiB, for every authenticated
// user.
const description = "/openapi/v3/api/v1"

// Answer reads an answer of the server, up to a limit in bytes. An error status counts as an
// answer. A checkpoint probes with it. It may be retried.
func (c *Client) Answer(ctx context.Context, limit int64) error {
	body, err := c.core.Get().AbsPath(description).MaxRetries(0).Stream(ctx)
	if said := apierrors.APIStatus(nil); errors.As(err, &said) {
		return nil
	}
	if err != nil {
		return err
	}
	defer body.Close() // nothing was written
	if _, err = io.Copy(io.Discard, io.LimitReader(body, limit)); err == nil {
		err = context.Cause(ctx) // a server may end the answer because the client has gone
	}
	return err
}

// connect creates the REST clients of a client.
func connect(c Client, how *rest.Config) (*Client, error) {
	known := runtime.NewScheme() // needed for the server's error statuses only, not for objects
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

// Server returns the host and the port of the API server, for messages.
func (c *Client) Server() string { return c.core.Get().AbsPath("/").URL().Host }

// Authorities returns the CAs that the kubeconfig trusts for the API servers, in PEM; nil for the
// system's CAs.
func (c *Client) Authorities() []byte { return c.authorities }

// methods are the HTTP methods of RBAC's verbs.
var methods = map[string]string{
	"get": http.MethodGet, "list": http.MethodGet, "watch": http.MethodGet, "create": http.MethodPost,
	"update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete,
}

// to builds a request.
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

// do sends a request, with an object unless it is nil, and decodes the answer.
func (c *Client) do(ctx context.Context, w apiRequest, object, into any) error {
	request := c.to(w)
	if object != nil {
		body, err := json.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode the request to %s: %w", w, err)
		}
		request.Body(body)
	}
	return c.send(ctx, w, request, into)
}

// send sends a request and decodes the answer. It retries after a Retry-After. It has a time limit,
// whatever the server does.
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
		body, _ = result.Raw() // Raw returns the error of result, which is nil
		err = json.Unmarshal(body, into)
	}
	return c.explain(ctx, bounded, w, err)
}
