package kube

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The values of [Condition.Status].
const (
	True    = "True"
	False   = "False"
	Unknown = "Unknown"
)

// Condition is one line of a Node's status.conditions.
type Condition struct {
	Type    string
	Status  string // True, False, Unknown
	Reason  string // one word in CamelCase
	Message string
	Since   time.Time // when it came to this status (lastTransitionTime)
	Seen    time.Time // when somebody last looked (lastHeartbeatTime)
}

// Condition reads one condition of a Node; nil: it has none of that type. It may be retried.
func (c *Client) Condition(ctx context.Context, node, kind string) (*Condition, error) {
	var raw nodeObject
	if err := c.do(ctx, apiRequest{verb: "get", resource: "nodes", name: node}, nil, &raw); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(raw.Status.Conditions, func(c nodeCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil, nil
	}
	found := &raw.Status.Conditions[i]
	return &Condition{
		Type: kind, Status: found.Status, Reason: found.Reason, Message: found.Message,
		Since: found.LastTransitionTime.Time, Seen: found.LastHeartbeatTime.Time,
	}, nil
}

// SetCondition writes one condition of a Node and leaves all others as they are: conditions are
// merged by their type, so its kubelet and we do not undo each other. It is one request, and may be
// retried. The server is asked once: how long to leave it alone then is the caller's to keep
// ([RetryAfter]). https://kubernetes.io/docs/reference/node/node-status/#condition
func (c *Client) SetCondition(ctx context.Context, node string, condition Condition) error {
	w := apiRequest{verb: "patch", resource: "nodes/status", name: node, patch: types.StrategicMergePatchType, once: true}
	return c.do(ctx, w, map[string]any{"status": map[string]any{"conditions": []nodeCondition{{
		Type: condition.Type, Status: condition.Status,
		Reason: condition.Reason, Message: condition.Message,
		LastTransitionTime: metav1.NewTime(condition.Since), LastHeartbeatTime: metav1.NewTime(condition.Seen),
	}}}}, nil)
}
