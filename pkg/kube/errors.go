package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netwright/netwright/pkg/graph"
)

// apiRequest is a request in RBAC's words.
type apiRequest struct {
	verb, group, resource string
	namespace, name       string // "": of the cluster; "": a list
	patch                 types.PatchType
	once                  bool // it is made once: the caller has time, and keeps to [RetryAfter]
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

// rule is what is missing where the server forbids it, as a Role has it.
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

// allow is what to do where the server forbids it. What a node writes of itself, an account that
// several nodes share could write of every other.
func (w apiRequest) allow(kubeconfig string) string {
	if w.verb == "patch" && strings.HasPrefix(w.resource, "nodes") {
		return fmt.Sprintf("kubelet's own credentials may do that, once it has them; the user of %s needs no right to "+
			"it, least of all one that several nodes share", kubeconfig)
	}
	return fmt.Sprintf("bind the user of %s to %s", kubeconfig, w.rule())
}

// ErrConflict is a write to an object that somebody else changed meanwhile: read it again.
var ErrConflict = errors.New("somebody else changed it meanwhile")

// ErrUnknown is an [fs.ErrPermission] of a server that does not know who asks: credentials are
// renewed, often by a program, and then it does.
var ErrUnknown = fmt.Errorf("%w", fs.ErrPermission)

// explain says what a failed request means and what to do. What another attempt may not meet is
// marked [graph.Transient]: an API that does not answer, or says so itself. Absent is
// [fs.ErrNotExist], there already [fs.ErrExist], forbidden [fs.ErrPermission].
func (c *Client) explain(ctx, bounded context.Context, w apiRequest, err error) error {
	if err == nil {
		return nil
	}
	at := fmt.Sprintf("%s at %s", w, c.Server())
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", at, context.Cause(ctx))
	case bounded.Err() != nil:
		return graph.Transient(fmt.Errorf("%s: %w: see that the API server is up and can be reached", at,
			context.Cause(bounded)))
	case tooLarge(err):
		return fmt.Errorf("%s: the answer is larger than %d MiB, the most that is read: %w: see what answers there", at,
			maxAnswer>>20, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s: %w", at, fs.ErrNotExist)
	case expired(err):
		return graph.Transient(fmt.Errorf("%s: the server no longer has it in that version (%s): it is read anew "+
			"the next time", at, reason(err)))
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
	// The rest is a server that is busy (429, 5xx), or a line to it that broke: those say by
	// themselves what it was.
	said := fmt.Errorf("%s: %s: see that the API server is up and can be reached", at, reason(err))
	if seconds, asked := apierrors.SuggestsClientDelay(err); asked {
		after := time.Duration(seconds) * time.Second
		if after > maxRetryAfter {
			said = fmt.Errorf("%w: it asks to be left alone for %s, and is for %s", said, after, maxRetryAfter)
		}
		said = &busy{said, min(after, maxRetryAfter)}
	}
	return graph.Transient(said)
}

// expired says that the server has dropped the version that it was asked for, of a watch or of the
// rest of a list: whoever asks reads all anew. As client-go's reflector
// (https://github.com/kubernetes/client-go/blob/v0.37.2/tools/cache/reflector.go, isExpiredError).
func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// maxRetryAfter is as long as a server is left alone that asks for more. One that sheds load asks
// for 32 s at most
// (https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/util/flowcontrol/dropped_requests_tracker.go#L29);
// what asks for a day is a proxy that is set wrong, and once that is mended nobody should wait a
// day for the nodes.
const maxRetryAfter = 5 * time.Minute

// busy is the error of a server that says how long to leave it alone.
type busy struct {
	error
	retryAfter time.Duration
}

// RetryAfter is how long a server asked to be left alone when it failed a request with this error,
// and five minutes where it asked for more; 0: it did not ask.
func RetryAfter(err error) time.Duration {
	if b, ok := errors.AsType[*busy](err); ok {
		return b.retryAfter
	}
	return 0
}

// reason is what the server said, on one line.
func reason(err error) string {
	var status apierrors.APIStatus
	text := err.Error()
	if errors.As(err, &status) {
		text = cmp.Or(status.Status().Message, text)
	}
	return strings.Join(strings.Fields(text), " ")
}
