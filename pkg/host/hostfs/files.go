package hostfs

import (
	"github.com/netwright/netwright/pkg/blob"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Files reads the file system below a root. Paths are absolute in the root ("/etc/cni/net.d"). No
// path leads out of the root, also not through symlinks.
type Files interface {
	// Lstat returns the metadata of path without following a symlink. It returns [fs.ErrNotExist]
	// if path does not exist.
	Lstat(path string) (FileInfo, error)
	// ReadFile returns the content of a regular file of at most [MaxReadFile] bytes. It follows a
	// symlink, inside the root.
	ReadFile(path string) ([]byte, error)
	// ReadEnds returns the first and the last bytes of such a file, at most most bytes each.
	ReadEnds(path string, most int) (begin, end []byte, err error)
	// Readlink returns the target of a symlink unchanged.
	Readlink(path string) (string, error)
	// Resolve returns a path after following all symlinks, inside the root. Parts that do not
	// exist, such as /dev in an image, stay unchanged.
	Resolve(path string) (string, error)
	// ReadDir lists the names in a directory, sorted by bytes.
	ReadDir(path string) ([]string, error)
	// Sum returns the digest of a regular file's content. It follows a symlink. It may return a
	// recorded digest (see [Stamps]) if size, mode, owner, times and inode equal the recorded ones.
	Sum(path string) (blob.Digest, error)
	// SumOf is Sum for a file for which Lstat has just returned info. If a stamp matches, it does
	// not open the file.
	SumOf(path string, info FileInfo) (blob.Digest, error)
	// Attributes returns the extended attributes of a file or directory that can be copied to
	// another inode: labels, ACLs, capabilities, user.*. It returns none for a symlink, which it
	// does not follow, and on a file system without attributes.
	Attributes(path string) (map[string][]byte, error)
	// Removable returns why a path cannot be removed even by root: its file system is read-only,
	// the path or its directory is immutable or append-only, or a file is mounted on it. It returns
	// nil otherwise, also for a missing path. The caller needs no privileges.
	Removable(path string) error
	// Writable returns why size new bytes cannot be written at a path: the reasons of Removable, or
	// a full file system. If the directory does not exist, it checks the nearest parent that
	// exists. With size below 0 only the owner or mode changes.
	Writable(path string, size int64) error
	// Runnable returns an error if the file system of a path is mounted noexec. If the path does
	// not exist, it checks the nearest directory that exists. It returns nil for an image, because
	// the host that boots from the image mounts it differently.
	Runnable(path string) error
	// Strict returns the same files for paths that another user could redirect. It follows only the
	// symlinks of the operating system and of [Options.FollowLinks]; any other is a
	// [hostpath.LinkError]. It does not read a regular file with several names: this is a
	// [hostpath.NamesError].
	Strict() Files
	// Way returns the [hostpath.LinkError] that prevents a write to a directory, or an edit of a
	// file. It returns nil for a missing path.
	Way(path string) error
	// Owner resolves "user:group" (names or numbers) with the root's own passwd and group. "" is
	// root:root; "user" alone has the user's own group.
	Owner(owner string) (uid, gid int, err error)
}

// FileType is the type of a path.
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
