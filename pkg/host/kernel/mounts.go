package kernel

import (
	"fmt"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/problem"
)

// Mounted implements host.Kernel for the mount namespace of the calling thread.
func (k *Reader) Mounted(path string) (string, error) {
	if !k.Live {
		return "", fmt.Errorf("look for a mount at %s: %w", path, sys.ErrNoLiveState)
	}
	list, err := sys.ReadKernelFile(k.Proc + "/thread-self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("read mountinfo: %w", err)
	}
	fstype := ""
	for point, kind := range sys.Mounts(list) {
		if point == path {
			fstype = kind // a later mount hides an earlier one
		}
	}
	if fstype == "" {
		return "", problem.Missing("nothing is mounted at %s", path)
	}
	return fstype, nil
}
