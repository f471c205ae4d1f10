package host

import (
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Runtime reads what the container runtime runs.
type Runtime interface {
	// Pods lists the pod sandboxes, in the runtime's order. It returns [ErrNoLiveState] for an
	// image, in a sandbox of the agent, and where no runtime has a CRI socket. Any other error
	// means that the runtime did not answer; then the call may be retried.
	Pods(ctx context.Context) ([]cri.Pod, error)
}

// Pods implements [Runtime].
func (l *Live) Pods(ctx context.Context) ([]cri.Pod, error) { return cri.Pods(ctx, l.runtimeSocket()) }

// RemovePod stops a pod sandbox and removes it: see [cri.RemovePod].
func (h *Host) RemovePod(ctx context.Context, id string) error {
	return cri.RemovePod(ctx, h.Live.runtimeSocket(), id)
}

// PodLog reads what the log of the container runtime says about pods: see [cri.ReadPodLog].
func (l *Live) PodLog(ctx context.Context) (cri.PodLog, error) {
	if !l.opt.live() {
		return cri.PodLog{}, fmt.Errorf("read the log of the runtime: %w", sys.ErrNoLiveState)
	}
	return cri.ReadPodLog(ctx, l.Facts.Runtime.Name)
}

// runtimeSocket returns the CRI socket of the runtime, or "" where the runtime must not be asked.
func (l *Live) runtimeSocket() string {
	if !l.opt.live() || l.opt.Sandbox || l.Facts.Runtime.CRIDisabled {
		return ""
	}
	return l.Facts.Runtime.Socket
}
