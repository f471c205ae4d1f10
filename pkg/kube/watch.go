package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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

// Changed waits until what is watched is otherwise than in the known version, and returns nil; also
// where that can only be known by reading it again (the version is too old for the server). Whoever
// calls it reads again, and does so after an error too, later: a watch only wakes.
func (c *Client) Changed(ctx context.Context, w Watched) error {
	return c.await(ctx, w, func(watch.Event) bool { return true })
}

// NodesChanged is [Client.Changed] for what a [Node] says of its pods: ranges and addresses. Nodes
// change all the time besides. known is what is known of the Node of this name, or with "" of all,
// in the version.
func (c *Client) NodesChanged(ctx context.Context, name string, known []Node, version string) error {
	before := make(map[string]Node, len(known))
	for _, n := range known {
		before[n.Name] = n
	}
	return c.await(ctx, Watched{Resource: "nodes", Name: name, Version: version}, func(event watch.Event) bool {
		raw, ok := event.Object.(*corev1.Node)
		if !ok { // it says that the watch is over
			return true
		}
		after, err := nodeOf(raw)
		old, was := before[raw.Name]
		if event.Type == watch.Deleted {
			return was && len(old.PodCIDRs) > 0
		}
		return err != nil || !slices.Equal(old.PodCIDRs, after.PodCIDRs) ||
			len(after.PodCIDRs) > 0 && !slices.Equal(old.Addresses, after.Addresses)
	})
}

// await waits for an event that counts.
func (c *Client) await(ctx context.Context, w Watched, counts func(watch.Event) bool) error {
	asked := apiRequest{verb: "watch", resource: w.Resource, namespace: w.Namespace, name: w.Name}
	for {
		seconds := int64(watchTime / time.Second)
		options := metav1.ListOptions{Watch: true, ResourceVersion: w.Version, TimeoutSeconds: &seconds,
			AllowWatchBookmarks: true}
		if w.Name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, w.Name).String()
		}
		// No retries: they would sleep for as long as a server asks, which nobody could see.
		events, err := c.core.Get().NamespaceIfScoped(w.Namespace,
			w.Namespace != "").Resource(w.Resource).VersionedParams(&options,
			metav1.ParameterCodec).MaxRetries(0).Watch(ctx)
		if err != nil {
			return c.explain(ctx, ctx, asked, err)
		}
		changed, seen := next(ctx, events, counts)
		events.Stop()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s at %s: %w", asked, c.Server(), context.Cause(ctx))
		case changed:
			return nil
		}
		w.Version = cmp.Or(seen, w.Version) // what was passed over is not looked at again
		// A server that ends every watch at once is not asked without a pause.
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// next waits for the first event that counts. It tells false when the watch ends without one, and
// the version until which it has looked.
func next(ctx context.Context, events watch.Interface, counts func(watch.Event) bool) (changed bool, version string) {
	for {
		select {
		case <-ctx.Done():
			return false, version
		case event, open := <-events.ResultChan():
			if !open {
				return false, version
			}
			if event.Type != watch.Bookmark && counts(event) {
				return true, version
			}
			if object, err := meta.Accessor(event.Object); err == nil {
				version = object.GetResourceVersion()
			}
		}
	}
}
