package host

import (
	"context"
	"fmt"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Runtime reads what the container runtime runs.
type Runtime interface {
	// Pods lists the sandboxes, in the runtime's order. [ErrNoLiveState] where none is to be asked:
	// an image, a sandbox of ours, no runtime with a CRI socket. Any other error says that there is
	// one and that it did not answer: it may be retried.
	Pods(ctx context.Context) ([]cri.Pod, error)
}

// Pods implements [Runtime].
func (l *Live) Pods(ctx context.Context) ([]cri.Pod, error) { return cri.Pods(ctx, l.runtimeSocket()) }

// RemovePod stops a sandbox and removes it: see [cri.RemovePod].
func (h *Host) RemovePod(ctx context.Context, id string) error {
	return cri.RemovePod(ctx, h.Live.runtimeSocket(), id)
}

// PodLog reads what the log of the host's runtime says of pods: see [cri.ReadPodLog].
func (l *Live) PodLog(ctx context.Context) (cri.PodLog, error) {
	if !l.opt.live() {
		return cri.PodLog{}, fmt.Errorf("read the log of the runtime: %w", sys.ErrNoLiveState)
	}
	return cri.ReadPodLog(ctx, l.Facts.Runtime.Name)
}

// runtimeSocket is where the runtime is asked, or "" where none is to be asked.
func (l *Live) runtimeSocket() string {
	if !l.opt.live() || l.opt.Sandbox || l.Facts.Runtime.CRIDisabled {
		return ""
	}
	return l.Facts.Runtime.Socket
}
