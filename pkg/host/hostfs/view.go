package hostfs

import (
	"github.com/netwright/netwright/pkg/blob"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Files reads the file system below the root. A path is absolute as the host
// sees it ("/etc/cni/net.d"); the root is put before it and never left, through
// symlinks neither.
type Files interface {
	// Lstat describes path itself, a symlink not followed. [fs.ErrNotExist] if absent.
	Lstat(path string) (FileInfo, error)
	// ReadFile returns the content of a regular file, at most [MaxReadFile] bytes. A symlink is
	// followed, inside the root.
	ReadFile(path string) ([]byte, error)
	// ReadEnds returns the first and the last bytes of such a file, so many of each at most.
	ReadEnds(path string, most int) (begin, end []byte, err error)
	// Readlink returns a symlink's target as it is written.
	Readlink(path string) (string, error)
	// Resolve says where a path ends once each symlink is followed, inside the root. What is not
	// there, in an image the whole of /dev, stays as it is written.
	Resolve(path string) (string, error)
	// ReadDir lists the names in a directory, sorted bytewise.
	ReadDir(path string) ([]string, error)
	// Sum returns the digest of a regular file's content, a symlink followed. It may
	// answer from a recorded stamp (see [Stamps]) when size, mode, owner, times and
	// inode are those of the record.
	Sum(path string) (blob.Digest, error)
	// SumOf is Sum of a file that Lstat has just described so: where a stamp
	// is believed, the file is not even opened.
	SumOf(path string, info FileInfo) (blob.Digest, error)
	// Attributes returns the extended attributes of a file or directory that another inode can have
	// as well: labels, ACLs, capabilities, user.*. None for a symlink, which is not followed, and
	// where the file system has none.
	Attributes(path string) (map[string][]byte, error)
	// Removable says why nobody can remove a path for as long as its file system is as it is:
	// read-only, or the path or its directory immutable or append-only. Nil otherwise, also of one
	// that is absent. Who asks may be anybody.
	Removable(path string) error
	// Writable says why nobody can put so many new bytes at a path for as long as its file system
	// is as it is: what Removable says, or that there is no room. Of a path whose directory is not
	// there it answers for the nearest that is. Fewer than 0 bytes: what is there only gets another
	// owner or mode.
	Writable(path string, size int64) error
	// Runnable says why no program can be run at a path, for as long as its file system is mounted
	// as it is: noexec. Of a path that is not there it tells of the nearest directory that is. How
	// an image is mounted says nothing of the host that boots from it: nil.
	Runnable(path string) error
	// Strict is the same files for what must not be led astray: no symlink is followed but those
	// that the operating system ships and those of [Options.FollowLinks], any other is a
	// [hostpath.LinkError]; a regular file with several names is not read: a [hostpath.NamesError].
	Strict() Files
	// Way says why nothing is written into a directory, nor edited in a file: a
	// [hostpath.LinkError]. Nil of what is absent.
	Way(path string) error
	// Owner resolves "user:group" (names or numbers) by the root's own passwd and group; "" is
	// root:root, "user" its own group.
	Owner(owner string) (uid, gid int, err error)
}

// FileType is what a path is.
type FileType = hostpath.FileType

// The types of a path.
const (
	Regular   = hostpath.Regular
	Directory = hostpath.Directory
	Symlink   = hostpath.Symlink
	Other     = hostpath.Other
)

// FileInfo is a path's metadata.
type FileInfo = hostpath.FileInfo
