package directory

import (
	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// stamp is what stat says of a file and what changes when its content does.
type stamp struct {
	size, mtime, ctime int64
	dev, inode         uint64
}

// info is the stamp as a memory keeps it.
func (s stamp) info() hostfs.FileInfo {
	return hostfs.FileInfo{Type: hostfs.Regular, Size: s.size, Mtime: s.mtime, Ctime: s.ctime, Dev: s.dev,
		Inode: s.inode}
}

// content is a file's digest and, but for those below files/, its bytes; and what stat said of the
// file before it was read. Or why they cannot be had.
type content struct {
	data  []byte
	sum   blob.Digest
	short bool // it shrank under us: whoever asked knows its size or its hash
	stamp
	err error
}
