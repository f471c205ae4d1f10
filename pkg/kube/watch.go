package kube

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// Watched is what [Client.Changed] waits for.
type Watched struct {
	Resource  string // "nodes", "configmaps"
	Namespace string
	Name      string // "": all of them
	Version   string // resourceVersion that is known
}

// watchTime is how long a server keeps a watch open; then it is opened again from where it was.
const watchTime = 5 * time.Minute

// Changed waits until what is watched is otherwise than in the known version, and returns nil; also where that can only be known by reading it again
// (the version is too old for the server). Whoever calls it reads again, and does so after an error too, later: a watch only wakes.
func (c *Client) Changed(ctx context.Context, w Watched) error {
	asked := what{verb: "watch", resource: w.Resource, namespace: w.Namespace, name: w.Name}
	for {
		seconds := int64(watchTime / time.Second)
		options := metav1.ListOptions{Watch: true, ResourceVersion: w.Version, TimeoutSeconds: &seconds}
		if w.Name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, w.Name).String()
		}
		events, err := c.core.Get().NamespaceIfScoped(w.Namespace, w.Namespace != "").Resource(w.Resource).VersionedParams(&options, metav1.ParameterCodec).Watch(ctx)
		if err != nil {
			return c.explain(ctx, ctx, asked, err)
		}
		changed := next(ctx, events)
		events.Stop()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s at %s: %w", asked, c.Server(), context.Cause(ctx))
		case changed:
			return nil
		}
		// A server that ends every watch at once is not asked without a pause.
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// next waits for the first event. It tells false when the watch ends without one.
func next(ctx context.Context, events watch.Interface) bool {
	select {
	case <-ctx.Done():
		return false
	case event, open := <-events.ResultChan():
		return open && event.Type != watch.Bookmark
	}
}
