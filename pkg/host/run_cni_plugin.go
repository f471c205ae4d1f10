package host

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// pluginTimeout bounds one call of a CNI plugin. Plugins that wait for an API server have shorter
// timeouts of their own.
const pluginTimeout = 2 * time.Minute

// RunPlugin runs a CNI plugin with a conf on stdin and the environment variables of the CNI
// protocol. It returns what the plugin wrote to stdout, also on failure, because there the plugin
// describes its error (cni.dev/docs/spec, "Error"). The plugin changes the host.
func (h *Host) RunPlugin(ctx context.Context, path string, conf []byte, env []string) ([]byte, error) {
	c := sys.Command{Path: path, Stdin: conf, Env: env, Timeout: pluginTimeout}
	for tries := 0; ; tries++ {
		out, err := sys.RunLive(ctx, h.Live.opt.live(), c)
		// A plugin that was just installed is busy (ETXTBSY) while a child process, forked during
		// the write, still has the file open for writing.
		if !errors.Is(err, unix.ETXTBSY) || tries == 10 {
			return out, err
		}
		if !Sleep(ctx, 50*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
}
