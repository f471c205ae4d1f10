package host

import (
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Options says which host to open and how.
type Options struct {
	// Root is put before every path: "/" for the running host, else a mounted
	// image (files only, nothing live).
	Root string
	// Sandbox says that the process is in throw-away namespaces: no modules, no
	// host-wide sysctls, no D-Bus of the host.
	Sandbox bool
	// FollowLinks are the symbolic links that somebody has stated: see [hostfs.Reader.Follow].
	FollowLinks []string
	// AnyLinks says that the paths are a person's own, who has just typed them: what is written
	// there may be behind any link.
	AnyLinks bool
	// Verify makes [hostfs.Files.Sum] read every byte: stamps are not believed.
	Verify bool
	// Stamps answers for files whose metadata is as it was recorded; nil: none.
	Stamps hostfs.Stamps
	// Prefetched has digests of files that were read already; nil: none.
	Prefetched hostfs.Prefetched
	// Facts are those of an earlier look at the same host, taken for true again: to gather them
	// costs most of a look. Nil: they are gathered.
	Facts *Facts
	// Runtime asks the container runtime beside the looks. Nil: each look asks, and waits for the
	// answer.
	Runtime *cri.StatusCache
	// Log gets one line per operation that writes. Nil: none.
	Log *zap.Logger
}

// Files is what of it the files need.
func (o Options) Files() hostfs.Options {
	return hostfs.Options{Root: o.Root, FollowLinks: o.FollowLinks, AnyLinks: o.AnyLinks, Verify: o.Verify,
		Stamps: o.Stamps, Prefetched: o.Prefetched, Log: o.Log}
}

// live says that the root is the one that the running kernel and its systemd see.
func (o Options) live() bool { return sys.IsLive(o.Root) }

// Running says that it is the running host: no image, and nothing in throw-away namespaces.
func (o Options) Running() bool { return o.live() && !o.Sandbox }
