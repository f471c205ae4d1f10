package kube

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/connrotation"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
)

// apiRequest describes a request in the terms of RBAC.
type apiRequest struct {
	verb, group, resource string
	namespace, name       string // namespace is "" for cluster-scoped objects; name is "" for a list
	patch                 types.PatchType
	once                  bool // client-go does not repeat it; the caller waits for [RetryAfter]
}

func (w apiRequest) String() string {
	text := w.verb + " " + w.resource
	if w.name != "" {
		text += " " + w.name
	}
	if w.namespace != "" {
		text += " in namespace " + w.namespace
	}
	return text
}

// rule returns the RBAC rule that would permit the request.
func (w apiRequest) rule() string {
	where, names := "a ClusterRole", ""
	if w.namespace != "" {
		where = "a Role of namespace " + w.namespace
	}
	if w.name != "" && w.verb != "create" {
		names = fmt.Sprintf(`, resourceNames: [%q]`, w.name)
	}
	return fmt.Sprintf(`%s with {apiGroups: [%q], resources: [%q]%s, verbs: [%q]}`, where, w.group, w.resource, names,
		w.verb)
}

// allow says what to do if the server forbids the request. It names no rule for a write to a Node:
// if several nodes share an account with such a rule, each could write the Nodes of the others.
func (w apiRequest) allow(kubeconfig string) string {
	if w.verb == "patch" && strings.HasPrefix(w.resource, "nodes") {
		return fmt.Sprintf("kubelet's own credentials may do that, once it has them; the user of %s needs no right to "+
			"it, least of all one that several nodes share", kubeconfig)
	}
	return fmt.Sprintf("bind the user of %s to %s", kubeconfig, w.rule())
}

// ErrConflict is the error of a write to an object that changed since it was read. Read it again.
var ErrConflict = errors.New("somebody else changed it meanwhile")

// ErrUnknown is the error of a server that does not accept the credentials. It matches
// [fs.ErrPermission]. Later requests may succeed, because a program often renews credentials.
var ErrUnknown = fmt.Errorf("%w", fs.ErrPermission)

// explain returns the error of a failed request, with what to do. It is marked [graph.Transient] if
// the server did not answer or says that it is busy. It matches [fs.ErrNotExist] for a missing
// object, [fs.ErrExist] for one that exists already, and [fs.ErrPermission] if the server forbids
// the request.
func (c *Client) explain(ctx, bounded context.Context, w apiRequest, err error) error {
	if err == nil {
		return nil
	}
	at := fmt.Sprintf("%s at %s", w, c.Server())
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", at, context.Cause(ctx))
	case bounded.Err() != nil:
		return unserved(c.dialer, fmt.Errorf("%s: %w: see that the API server is up and can be reached", at,
			context.Cause(bounded)))
	case tooLarge(err):
		return fmt.Errorf("%s: the answer is larger than the limit of %d MiB: %w: check which server answers "+
			"there", at,
			maxAnswer>>20, err)
	case apierrors.IsNotFound(err):
		return problem.Missing("%s: the server has none", at)
	case expired(err):
		return graph.Transient(fmt.Errorf("%s: the server no longer has it in that version (%s): the next "+
			"look reads all of it again", at, reason(err)))
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s: %w", at, fs.ErrExist)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s: %w", at, ErrConflict)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s: %w: the server says %q: %s", at, fs.ErrPermission, reason(err), w.allow(c.kubeconfig))
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: %w: the server does not know the credentials in %s: renew its token or certificate", at,
			ErrUnknown, c.kubeconfig)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return fmt.Errorf("%s: the server refuses it: %s", at, reason(err))
	}
	// All other errors are those of a busy server (429, 5xx) or of a broken connection. Their texts
	// say what happened.
	said := fmt.Errorf("%s: %s: %s", at, reason(err), hint(err, c.kubeconfig))
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		after := time.Duration(seconds) * time.Second
		if after > maxRetryAfter {
			said = fmt.Errorf("%w: the server asks for a pause of %s, and the agent pauses %s", said, after, maxRetryAfter)
		}
		said = &busy{said, min(after, maxRetryAfter)}
	}
	if apierrors.IsTooManyRequests(err) { // it does serve, and a new connection would cost it more
		return graph.Transient(said)
	}
	return unserved(c.dialer, said)
}

// hint returns what to do about an error of the server or of the connection to it.
func hint(err error, kubeconfig string) string {
	var answered apierrors.APIStatus
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &answered):
		return "the server answers, and cannot serve it: look at the API server and its etcd"
	case errors.As(err, &certificate):
		return fmt.Sprintf("look at the server's certificate, at certificate-authority in %s and at this machine's clock",
			kubeconfig)
	}
	return "see that the API server is up and can be reached"
}

// unserved closes the connections of a client and returns err as transient. Behind one address
// there are often several API servers, and a server whose etcd is away keeps its connections: the
// next request may reach another server over a new connection. kubelet does the same
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kubelet_node_status.go,
// onRepeatedHeartbeatFailure).
func unserved(connections *connrotation.Dialer, err error) error {
	connections.CloseAll()
	return graph.Transient(err)
}

// expired reports whether the server no longer has the requested version, for a watch or for the
// next page of a list. The caller has to read everything again. The test is that of client-go's
// reflector (https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/reflector.go,
// isExpiredError).
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// reason returns the message of the server, on one line.
func reason(err error) string {
	var status apierrors.APIStatus
	text := err.Error()
	if errors.As(err, &status) {
		text = cmp.Or(status.Status().Message, text)
	}
	return strings.Join(strings.Fields(text), " ")
}
