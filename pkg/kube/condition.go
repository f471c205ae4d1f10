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

// Condition is one entry of a Node's status.conditions.
type Condition struct {
	Type    string
	Status  string // True, False, Unknown
	Reason  string // one word in CamelCase
	Message string
	Since   time.Time // time of the last change of Status (lastTransitionTime)
	Seen    time.Time // time of the last check (lastHeartbeatTime)
}

// Condition reads one condition of a Node. It returns nil if the Node has none of this type. It may
// be retried.
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

// SetCondition writes one condition of a Node. The server merges conditions by type, so that
// kubelet and the agent do not overwrite each other's. It is one request, and may be retried.
// client-go does not repeat it after a Retry-After: the caller waits that long ([RetryAfter]).
// https://kubernetes.io/docs/reference/node/node-status/#condition
func (c *Client) SetCondition(ctx context.Context, node string, condition Condition) error {
	w := apiRequest{verb: "patch", resource: "nodes/status", name: node, patch: types.StrategicMergePatchType, once: true}
	return c.do(ctx, w, map[string]any{"status": map[string]any{"conditions": []nodeCondition{{
		Type: condition.Type, Status: condition.Status,
		Reason: condition.Reason, Message: condition.Message,
		LastTransitionTime: metav1.NewTime(condition.Since), LastHeartbeatTime: metav1.NewTime(condition.Seen),
	}}}}, nil)
}
