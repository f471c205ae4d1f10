package kernel

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// NetSysctls are all keys of net.* that may be read and written here, with their values: those of
// the machine too where they may be set.
func (w *Writer) NetSysctls() map[string]string {
	out := map[string]string{}
	if !w.kernel.Live {
		return out
	}
	root := w.kernel.Proc + "/sys/"
	// What cannot be read now (a link that goes just then, a key that wants more rights) is not
	// kept.
	_ = filepath.WalkDir(root+"net", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		key := swapSeparators(strings.TrimPrefix(path, root))
		if ScopeOf(key) == ScopeHost && !w.opt.HostSysctls {
			return nil
		}
		if info, err := e.Info(); err != nil || info.Mode()&0o600 != 0o600 {
			return nil
		}
		if value, err := sys.ReadKernelFile(path); err == nil && len(value) < os.Getpagesize() {
			out[key] = sys.FoldSpace(string(value))
		}
		return nil
	})
	return out
}
