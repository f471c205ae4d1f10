package sys

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// ErrNoLiveState means that no running kernel or systemd belongs to the root (--root): it is an
// image or a directory tree, and live state cannot be read there.
var ErrNoLiveState = errors.New("no live state under this root")

// ErrNoListener means that a socket exists but no process listens on it.
var ErrNoListener = errors.New("nobody listens there")

// Ready returns nil if the root has a running kernel and ctx has not ended. what is for the error.
func Ready(ctx context.Context, live bool, what string) error {
	if !live {
		return fmt.Errorf("read %s: %w", what, ErrNoLiveState)
	}
	return context.Cause(ctx)
}

// IsLive reports whether a root is that of the running kernel and systemd.
func IsLive(root string) bool { return root == "" || filepath.Clean(root) == "/" }
