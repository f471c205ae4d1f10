package sys

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// ErrNoLiveState says that the root is an image or a tree without a running
// kernel or systemd behind it (--root): live state cannot be read there.
var ErrNoLiveState = errors.New("no live state under this root")

// ErrNoListener says that a socket is there and nobody listens on it.
var ErrNoListener = errors.New("nobody listens there")

// Ready is nil where a kernel stands behind the root, and ctx has not ended. what is to be read.
func Ready(ctx context.Context, live bool, what string) error {
	if !live {
		return fmt.Errorf("read %s: %w", what, ErrNoLiveState)
	}
	return context.Cause(ctx)
}

// IsLive says that a root is the one that the running kernel and its systemd see.
func IsLive(root string) bool { return root == "" || filepath.Clean(root) == "/" }
