package host

import (
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Options says which host to open and how.
type Options struct {
	// Root is put before every path: "/" for the running host, or the directory of a mounted image.
	// For an image, only its files are read and written, because no kernel and no systemd runs
	// there.
	Root string
	// Sandbox means that the process runs in temporary namespaces: it loads no modules, sets no
	// host-wide sysctls and does not use the D-Bus of the host.
	Sandbox bool
	// FollowLinks are the symbolic links that the user allows: see [hostfs.Reader.Follow].
	FollowLinks []string
	// AnyLinks means that a person typed the paths just now, so a path may lead through any
	// symbolic link.
	AnyLinks bool
	// Verify makes [hostfs.Files.Sum] read every byte of a file instead of using stamps.
	Verify bool
	// Stamps has digests of files whose metadata did not change since; nil: there are none.
	Stamps hostfs.Stamps
	// Prefetched has digests of files that were read already; nil: there are none.
	Prefetched hostfs.Prefetched
	// Facts are the facts of an earlier look at the same host, to be used again: gathering them is
	// most of the cost of a look. Nil: they are gathered.
	Facts *Facts
	// Runtime asks the container runtime in the background. Nil: each look asks the runtime itself
	// and waits for the answer.
	Runtime *cri.StatusCache
	// ConnectSystemd connects to systemd while the facts are gathered, for a caller that will need
	// it: systemd takes longer to answer than the files and the kernel.
	ConnectSystemd bool
	// Log gets one line for each operation that writes. Nil: nothing is logged.
	Log *zap.Logger
}

// Files returns the options of package hostfs.
func (o Options) Files() hostfs.Options {
	return hostfs.Options{Root: o.Root, FollowLinks: o.FollowLinks, AnyLinks: o.AnyLinks, Verify: o.Verify,
		Stamps: o.Stamps, Prefetched: o.Prefetched, Log: o.Log}
}

// live reports whether Root is the root of the running kernel and systemd.
func (o Options) live() bool { return sys.IsLive(o.Root) }

// Running reports whether this is the running host: no image and no temporary namespaces.
func (o Options) Running() bool { return o.live() && !o.Sandbox }
