package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/host"
)

// ProgramMark names programs of eBPF that are attached without a pin; what is attached by a link goes with its pin.
type ProgramMark struct {
	Hook string `json:"hook"` // tc, xdp, cgroup
	Name string `json:"name"` // pattern; the kernel keeps 15 characters of it, tc all
}

func findPrograms(context.Context, host.View, Leftovers, Scope) ([]Found, error) { return nil, nil }
