package host

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// pluginTimeout bounds one call of a CNI plugin. Those that wait for an API
// server bound themselves below it.
const pluginTimeout = 2 * time.Minute

// RunPlugin starts a CNI plugin with a conf on stdin and the variables of
// CNI's protocol, and returns what it wrote to stdout: on failure too, since
// there a plugin says why (cni.dev/docs/spec, "Error"). The plugin changes the host.
func (h *Host) RunPlugin(ctx context.Context, path string, conf []byte, env []string) ([]byte, error) {
	c := sys.Command{Path: path, Stdin: conf, Env: env, Timeout: pluginTimeout}
	for tries := 0; ; tries++ {
		out, err := sys.RunLive(ctx, h.Live.opt.live(), c)
		// A plugin that was just installed is busy while a child forked meanwhile still has it open
		// for writing.
		if !errors.Is(err, unix.ETXTBSY) || tries == 10 {
			return out, err
		}
		if !Sleep(ctx, 50*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
}
