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

// Changed waits until the object has another version, and returns nil. It also returns nil if the
// server no longer has the version, because only a read can show whether the object changed. The
// caller reads the object after Changed returns, and after an error too, a little later.
func (c *Client) Changed(ctx context.Context, w Watched) error {
	return c.await(ctx, w, func(string, *nodeObject) bool { return true })
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

// await waits for an event for which counts returns true.
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
		if err != nil && !expired(err) {
			return c.explain(ctx, ctx, asked, err)
		}
		if err == nil {
			changed, seen := next(events, counts)
			events.Close() // nothing was written
			if changed && ctx.Err() == nil {
				return nil
			}
			w.Version = cmp.Or(seen, w.Version) // do not look at the ignored events again
		}
		// Do not reopen the watch at once if a server ends or refuses it each time.
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s at %s: %w", asked, c.Server(), context.Cause(ctx))
		case <-time.After(time.Second):
		}
		if err != nil { // the version is too old; an ERROR event may say so too
			return nil
		}
	}
}

// next reads events until one counts. It returns false if the watch ends before, and the version
// that it has read up to. An event that cannot be parsed or that is larger than [maxAnswer] counts,
// because the caller then reads everything again.
func next(events io.Reader, counts func(event string, object *nodeObject) bool) (changed bool, version string) {
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
			return bounded.N <= 0 || errors.As(err, &garbled), version
		}
		var object nodeObject
		switch err := json.Unmarshal(event.Object, &object); {
		case event.Type == "ERROR", err != nil: // the watch has ended with a Status
			return true, version
		case event.Type != "BOOKMARK" && counts(event.Type, &object):
			return true, version
		}
		version = cmp.Or(object.Metadata.ResourceVersion, version)
	}
}
