package hostfs

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
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
	// ReadDir lists the names in a directory, sorted bytewise.
	ReadDir(path string) ([]string, error)
	// Sum returns the digest of a regular file's content, a symlink followed. It may
	// answer from a recorded stamp (see [Stamps]) when size, mode, owner, times and
	// inode are those of the record.
	Sum(path string) (Digest, error)
	// SumOf is Sum of a file that Lstat has just described so: where a stamp
	// is believed, the file is not even opened.
	SumOf(path string, info FileInfo) (Digest, error)
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
	// as it is: noexec. Of a path that is not there it tells of the nearest directory that is.
	Runnable(path string) error
	// Strict is the same files for what must not be led astray: no symlink is followed but those
	// that the operating system ships and those of [Options.FollowLinks], any other is a
	// [LinkError]; a regular file with several names is not read: a [NamesError].
	Strict() Files
	// Way says why nothing is written into a directory, nor edited in a file: a [LinkError]. Nil of
	// what is absent.
	Way(path string) error
	// Owner resolves "user:group" (names or numbers) by the root's own passwd and group; "" is
	// root:root, "user" its own group.
	Owner(owner string) (uid, gid int, err error)
}

// FileType is what a path is.
type FileType string

// The types of a path.
const (
	Regular   FileType = "file"
	Directory FileType = "directory"
	Symlink   FileType = "symlink"
	Other     FileType = "other" // device, socket, pipe
)

// FileInfo is a path's metadata.
type FileInfo struct {
	Type     FileType
	Mode     fs.FileMode // permission, setuid, setgid and sticky bits
	UID, GID int
	Size     int64
	Inode    uint64
	Dev      uint64
	Links    uint64
	Mtime    int64 // nanoseconds since the epoch
	Ctime    int64
	// Mounted says that something is mounted on the path, as a container does
	// with single files: it cannot be replaced by a rename, only written in place.
	Mounted bool
}

// Digest is a sha256.
type Digest [32]byte

// Content is bytes that are known by their size and digest, and that may stay where they are until
// somebody wants them: a store of ten thousand files is compared with a host on which all is right
// without reading a byte of either.
type Content struct {
	Size int64
	Sum  Digest

	// Behind functions, for nothing that prints a struct prints what is behind one: a content may
	// be secret.
	bytes func() []byte
	read  func() ([]byte, error)
}

// String is "12 bytes".
func (c Content) String() string { return fmt.Sprintf("%d bytes", c.Size) }

// Format implements [fmt.Formatter], for every verb.
func (c Content) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// Named is a content and its path where it is kept.
type Named struct {
	Name string
	Content
}

// ContentOf is the content that these bytes are. The caller does not change them any more.
func ContentOf(b []byte) Content {
	return Content{Size: int64(len(b)), Sum: sha256.Sum256(b), bytes: func() []byte { return b }}
}

// StoredContent is a content that read gets when it is wanted.
func StoredContent(size int64, sum Digest, read func() ([]byte, error)) Content {
	return Content{Size: size, Sum: sum, read: read}
}

// Bytes returns the content, and nothing else under its name: what has changed where it is kept is
// an error. It may be called any number of times and from any goroutine; the bytes are not to be
// changed.
func (c Content) Bytes() ([]byte, error) {
	switch {
	case c.read != nil:
	case c.bytes != nil:
		return c.bytes(), nil
	default:
		return nil, nil
	}
	b, err := c.read()
	if err != nil {
		return nil, err
	}
	if sum := Digest(sha256.Sum256(b)); sum != c.Sum {
		return nil, fmt.Errorf("it changed while it was used: its sha256 was %s and is %s: the next pass takes it as "+
			"it is then", c.Sum, sum)
	}
	return b, nil
}
