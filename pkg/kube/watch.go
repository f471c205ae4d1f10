package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// Watched says what [Client.Changed] waits for.
type Watched struct {
	Resource  string // "nodes", "configmaps"
	Namespace string
	Name      string // "" for all of them
	Version   string // resourceVersion of the last read
}

// watchTime is how long a server keeps a watch open. Then the client opens it again from the last
// version.
const watchTime = 5 * time.Minute

// anyVersion starts a watch of one object with its present state, from the server's cache.
const anyVersion = "0"

// Changed waits until the object has another version, and returns nil. The caller reads the object
// after Changed returns, and after an error too, a little later.
func (c *Client) Changed(ctx context.Context, w Watched) error {
	return c.await(ctx, w, func(_ string, object *nodeObject) bool { return object.Metadata.ResourceVersion != w.Version })
}

// NodesChanged does what [Client.Changed] does for the pod CIDRs of Nodes, and for the addresses of
// Nodes that have some. It ignores all other changes, which are frequent. known is the Node of this
// name, or all Nodes if name is "", as read in this version.
func (c *Client) NodesChanged(ctx context.Context, name string, known []Node, version string) error {
	before := make(map[string]Node, len(known))
	for _, n := range known {
		before[n.Name] = n
	}
	w := Watched{Resource: "nodes", Name: name, Version: version}
	return c.await(ctx, w, func(event string, object *nodeObject) bool {
		after, err := nodeOf(object)
		old, was := before[after.Name]
		if event == "DELETED" {
			return was && len(old.PodCIDRs) > 0
		}
		return err != nil || !slices.Equal(old.PodCIDRs, after.PodCIDRs) ||
			len(after.PodCIDRs) > 0 && !slices.Equal(old.Addresses, after.Addresses)
	})
}

// await waits for an event for which counts returns true. A server that was started again, or has
// seen many changes of other objects, no longer has the version of an object that is as it was, and
// a read would return the same version. So await then watches the object from [anyVersion]. It
// returns nil if that fails too, or if it watches all objects, because only a read can show whether
// one changed. It does not notice that the object was deleted before that watch.
func (c *Client) await(ctx context.Context, w Watched, counts func(event string, object *nodeObject) bool) error {
	asked := apiRequest{verb: "watch", resource: w.Resource, namespace: w.Namespace, name: w.Name}
	for {
		seconds := int64(watchTime / time.Second)
		options := metav1.ListOptions{Watch: true, ResourceVersion: w.Version, TimeoutSeconds: &seconds,
			AllowWatchBookmarks: true}
		if w.Name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, w.Name).String()
		}
		// No retries: client-go would sleep for the Retry-After, and the caller would not know.
		events, err := c.to(asked).VersionedParams(&options, metav1.ParameterCodec).MaxRetries(0).Stream(ctx)
		if err == nil {
			var changed bool
			var seen string
			changed, seen, err = next(events, counts)
			events.Close() // nothing was written
			if changed && ctx.Err() == nil {
				return nil
			}
			w.Version = cmp.Or(seen, w.Version) // do not look at the ignored events again
		}
		if err != nil && !expired(err) {
			return c.explain(ctx, ctx, asked, err)
		}
		// Do not reopen the watch at once if a server ends or refuses it each time.
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s at %s: %w", asked, c.Server(), context.Cause(ctx))
		case <-time.After(time.Second):
		}
		switch {
		case err == nil:
		case w.Name == "", w.Version == anyVersion:
			return nil
		default:
			w.Version = anyVersion
		}
	}
}

// next reads events until one counts. It returns false if the watch ends before, the version that
// it has read up to, and the error with which the server ended the watch. An event that cannot be
// parsed or that is larger than [maxAnswer] counts, because the caller then reads everything again.
func next(
	events io.Reader, counts func(event string, object *nodeObject) bool,
) (changed bool, version string, err error) {
	bounded := &io.LimitedReader{R: events}
	decoder := json.NewDecoder(bounded)
	for {
		bounded.N = maxAnswer
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&event); err != nil {
			var garbled *json.SyntaxError
			return bounded.N <= 0 || errors.As(err, &garbled), version, nil
		}
		if event.Type == "ERROR" {
			var status metav1.Status
			err := json.Unmarshal(event.Object, &status)
			return err != nil, version, apierrors.FromObject(&status)
		}
		var object nodeObject
		if err := json.Unmarshal(event.Object, &object); err != nil {
			return true, version, nil
		}
		if event.Type != "BOOKMARK" && counts(event.Type, &object) {
			return true, version, nil
		}
		version = cmp.Or(object.Metadata.ResourceVersion, version)
	}
}
