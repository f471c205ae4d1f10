package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
)

// MovedMark names a link to which a network moved the machine's addresses and routes from a device: a bridge that has the device as
// its port, or a link that stands in its place. They go back in one step, before the link goes.
type MovedMark struct {
	Link string `json:"link"`           // pattern
	Kind string `json:"kind,omitempty"` // bridge, openvswitch …
}

func findMoved(context.Context, host.View, Leftovers, Scope) ([]Found, error) { return nil, nil }
