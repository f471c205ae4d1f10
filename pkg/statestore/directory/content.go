package directory

import (
	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// stamp identifies one state of a file by fields of stat(2) that change with its content.
type stamp struct {
	size, mtime, ctime int64
	dev, inode         uint64
}

// info returns the stamp in the form of the cache.
func (s stamp) info() hostfs.FileInfo {
	return hostfs.FileInfo{Type: hostfs.Regular, Size: s.size, Mtime: s.mtime, Ctime: s.ctime, Dev: s.dev,
		Inode: s.inode}
}

// content is the result of reading a file: its stamp before the read, its digest, and its bytes
// unless it is below files/. If the read failed, err says why.
type content struct {
	data    []byte
	sum     blob.Digest
	changed bool // during the read; the check of size or hash finds it
	stamp
	err error
}
