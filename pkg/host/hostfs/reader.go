// Package hostfs reads and writes the files of a host or of a mounted image.
//
// [Reader] has no method that writes. [Writer] puts files in place so that after a crash each file
// is the old one or the new one, whole: see [Batch]. Paths are opened as package hostpath
// describes.
//
// It is not named fs, because callers that use file modes import [io/fs], too.
//
// # Files
//
//   - the types: reader, writer, files, filespec
//   - contents, metadata, packages of programs, stamps of files: read, stat, go_package, stamps
//   - what can be written and run, and the mounts that decide it: writable, host_mounts
//   - single files, made, appended to, edited and removed: write, edit, remove, attributes
//   - files that are put in place together, and what a crash leaves of that: batch*
//   - a file kept before a change, and restored: backup
//   - files that a killed run left: stale_files
package hostfs

import (
	"sync"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/accounts"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Prefetched has digests of files that were read before a caller needs them.
type Prefetched interface {
	// Take returns the digest of a file with the metadata info; false: the caller must read the
	// file.
	Take(name string, info FileInfo) (blob.Digest, bool)
}

// Options says which files to open, and how.
type Options struct {
	// Root is put before every path: "/" (or "") for the running host, or the directory of a
	// mounted image.
	Root string
	// FollowLinks are the symbolic links that the user allows: see [Reader.Follow].
	FollowLinks []string
	// AnyLinks means that a person typed the paths just now, so a path may lead through any
	// symbolic link.
	AnyLinks bool
	// Verify makes [Files.Sum] read every byte of a file instead of using stamps.
	Verify bool
	// Stamps has digests of files whose metadata did not change since; nil: there are none.
	Stamps Stamps
	// Prefetched has digests of files that were read already; nil: there are none.
	Prefetched Prefetched
	// Log gets one line for each operation that writes. Nil: nothing is logged.
	Log *zap.Logger
}

// Reader reads the file system below a root. It also has the state that methods of [Writer] share.
// It implements [Files].
type Reader struct {
	Paths  hostpath.Root
	opt    Options
	owners accounts.Accounts

	edits   sync.Mutex // one edit at a time, see [Writer.EditFile]
	cleaner sweeper
	mounts  hostMounts

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

// Close closes the root.
func (f *Reader) Close() error { return f.Paths.Close() }

// Owner implements [Files]. It reads /etc/passwd and /etc/group of the root, because an image has
// other users than the host that mounts it.
func (f *Reader) Owner(owner string) (uid, gid int, err error) {
	return f.owners.Resolve(owner, f.ReadFile)
}

// racyFiles are the files to be read again later.
type racyFiles struct {
	mu   sync.Mutex
	list []racyFile
}

// racyFile is a file whose digest could not be recorded, because it was read or written just after
// a change.
type racyFile struct {
	name string
	info FileInfo
}

// sweeper removes staged files that killed runs left.
type sweeper struct{ seen sync.Map } // directories that were looked at
