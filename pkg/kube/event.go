package kube

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Event is something that happened to a Node, as `kubectl describe node` shows it.
type Event struct {
	Reason  string // one word in CamelCase
	Message string
	Warning bool
	Count   int // how often it happened between First and Last
	First   time.Time
	Last    time.Time
}

// eventsNamespace is the namespace of the Events about Nodes. Nodes themselves have no namespace.
const eventsNamespace = metav1.NamespaceDefault

// reporter is the component that reports the Events.
const reporter = "netwright"

// CreateEvent creates an Event about a Node, and returns its name for [Client.RepeatEvent]. It may
// be retried, but may create two Events then. A kubelet may create Events about any object (the
// role system:node). The Events are core/v1 as kubelet's own are, with the Node's name as its uid,
// because `kubectl describe node` finds them by that.
func (c *Client) CreateEvent(ctx context.Context, node string, e Event) (name string, err error) {
	kind := "Normal"
	if e.Warning {
		kind = "Warning"
	}
	name = fmt.Sprintf("%s.%x", node, time.Now().UnixNano()) // as client-go's recorder names them
	w := apiRequest{verb: "create", resource: "events", namespace: eventsNamespace, name: name, once: true}
	return name, c.do(ctx, w, eventObject{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		Metadata:       objectMeta{Name: name, Namespace: eventsNamespace},
		InvolvedObject: map[string]string{"apiVersion": "v1", "kind": "Node", "name": node, "uid": node},
		Reason:         e.Reason, Message: e.Message, Type: kind, Count: e.Count,
		FirstTimestamp: metav1.NewTime(e.First), LastTimestamp: metav1.NewTime(e.Last),
		Source: map[string]string{"component": reporter, "host": node}, ReportingController: reporter,
		ReportingInstance: node,
	}, nil)
}

// RepeatEvent updates the count, the message and the time of an Event. If the server has removed
// the Event (by default after an hour), the error matches [io/fs.ErrNotExist], and the caller
// creates another. It may be retried.
func (c *Client) RepeatEvent(ctx context.Context, name string, e Event) error {
	w := apiRequest{verb: "patch", resource: "events", namespace: eventsNamespace, name: name,
		patch: types.MergePatchType, once: true}
	return c.do(ctx, w, map[string]any{"count": e.Count, "message": e.Message,
		"lastTimestamp": metav1.NewTime(e.Last)}, nil)
}
