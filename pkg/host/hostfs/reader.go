// Package hostfs reads and writes the files of a host or of a mounted image.
//
// [Reader] has no method that writes. [Writer] puts files in place so that after a crash each is
// the old one or the new one, whole: [Batch] says how. No path is walked by name: see package
// hostpath.
//
// It is named for what it has and not fs, since whoever names a mode needs [io/fs] beside it.
package hostfs

import (
	"sync"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/accounts"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Prefetched are digests of files that were read before somebody asks.
type Prefetched interface {
	// Take is the digest of a file that is as info says; false: it is to be read.
	Take(name string, info FileInfo) (blob.Digest, bool)
}

// Options says which files to open, and how.
type Options struct {
	// Root is put before every path: "/" (or "") for the running host, else a mounted image.
	Root string
	// FollowLinks are the symbolic links that somebody has stated: see [Reader.Follow].
	FollowLinks []string
	// AnyLinks says that the paths are a person's own, who has just typed them: what is written
	// there may be behind any link.
	AnyLinks bool
	// Verify makes [Files.Sum] read every byte: stamps are not believed.
	Verify bool
	// Stamps answers for files whose metadata is as it was recorded; nil: none.
	Stamps Stamps
	// Prefetched has digests of files that were read already; nil: none.
	Prefetched Prefetched
	// Log gets one line per operation that writes. Nil: none.
	Log *zap.Logger
}

// Reader reads the file system below a root, and holds what the methods of [Writer] share. It
// implements [Files].
type Reader struct {
	Paths  hostpath.Root
	opt    Options
	owners accounts.Accounts

	edits   sync.Mutex // one read-modify-write at a time, see [Writer.EditFile]
	cleaner sweeper

	racy racyFiles
}

// Open opens the root.
func Open(opt Options) (*Reader, error) {
	root, err := hostpath.Open(opt.Root)
	if err != nil {
		return nil, err
	}
	root.Links, root.AnyLink = opt.FollowLinks, opt.AnyLinks
	return &Reader{opt: opt, Paths: root}, nil
}

// Close releases the root.
func (f *Reader) Close() error { return f.Paths.Close() }

// Owner implements [Files]. The root's own /etc/passwd and /etc/group are read: an image has other
// users than the host that it is mounted on.
func (f *Reader) Owner(owner string) (uid, gid int, err error) {
	return f.owners.Resolve(owner, f.ReadFile)
}

// racyFiles are those that should be read again.
type racyFiles struct {
	mu   sync.Mutex
	list []racyFile
}

// racyFile is a file that was read, or written, and not vouched for.
type racyFile struct {
	name string
	info FileInfo
}

// sweeper removes what killed runs left staged.
type sweeper struct{ seen sync.Map } // directories
