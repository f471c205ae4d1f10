package kernel

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Mounted implements host.Kernel, of the calling thread's mount namespace.
func (k *Reader) Mounted(path string) (string, error) {
	if !k.Live {
		return "", fmt.Errorf("look for a mount at %s: %w", path, sys.ErrNoLiveState)
	}
	list, err := sys.ReadKernelFile(k.Proc + "/thread-self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("read mountinfo: %w", err)
	}
	fstype := ""
	for line := range bytes.Lines(list) {
		// id parent major:minor root point options [tags…] - type source options
		left, right, ok := bytes.Cut(line, []byte(" - "))
		l, r := strings.Fields(string(left)), strings.Fields(string(right))
		if ok && len(l) > 4 && len(r) > 0 && sys.UnescapeMount(l[4]) == path {
			fstype = r[0] // a later line lies over an earlier one
		}
	}
	if fstype == "" {
		return "", fmt.Errorf("look for a mount at %s: %w", path, fs.ErrNotExist)
	}
	return fstype, nil
}
