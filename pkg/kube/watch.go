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
	return c.await(ctx, w, func(string, *nodeObject) bool { return true })
}

// NodesChanged is [Client.Changed] for what a [Node] says of its pods: ranges and addresses. Nodes
// change all the time besides. known is what is known of the Node of this name, or with "" of all,
// in the version.
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

// await waits for an event that counts.
func (c *Client) await(ctx context.Context, w Watched, counts func(event string, object *nodeObject) bool) error {
	asked := apiRequest{verb: "watch", resource: w.Resource, namespace: w.Namespace, name: w.Name}
	for {
		seconds := int64(watchTime / time.Second)
		options := metav1.ListOptions{Watch: true, ResourceVersion: w.Version, TimeoutSeconds: &seconds,
			AllowWatchBookmarks: true}
		if w.Name != "" {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, w.Name).String()
		}
		// No retries: they would sleep for as long as a server asks, which nobody could see.
		events, err := c.to(asked).VersionedParams(&options, metav1.ParameterCodec).MaxRetries(0).Stream(ctx)
		if err != nil && !expired(err) {
			return c.explain(ctx, ctx, asked, err)
		}
		if err == nil {
			changed, seen := next(events, counts)
			events.Close() // nothing is written to it
			if changed && ctx.Err() == nil {
				return nil
			}
			w.Version = cmp.Or(seen, w.Version) // what was passed over is not looked at again
		}
		// A server that ends or refuses every watch at once is not asked without a pause.
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s at %s: %w", asked, c.Server(), context.Cause(ctx))
		case <-time.After(time.Second):
		}
		if err != nil { // the version is too old, which an event may say as well
			return nil
		}
	}
}

// next waits for the first event that counts. It returns false when the watch ends without one, and
// the version until which it has looked. What cannot be read, or has no end, counts: who is woken
// reads all anew. An event is bounded as an answer is.
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
		case event.Type == "ERROR", err != nil: // the watch is over, with a Status
			return true, version
		case event.Type != "BOOKMARK" && counts(event.Type, &object):
			return true, version
		}
		version = cmp.Or(object.Metadata.ResourceVersion, version)
	}
}
