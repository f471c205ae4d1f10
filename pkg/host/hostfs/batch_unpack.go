package hostfs

import (
	"context"
	"io"
	"path"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/blob"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Unpacking describes an archive and which of its members are unpacked.
type Unpacking struct {
	Name    string           // for messages: "cni-plugins v1.9.1"
	Sum     archive.Checksum // of the archive before decompression
	Dir     string           // directory for the members
	Members []string         // base names; the last element of a member's path must match
	Spec    FileSpec         // of every member
}

// Member is a file that was unpacked.
type Member struct {
	SHA256 blob.Digest `json:"sha256"`
	Size   int64       `json:"size"`
}

// Unpack reads an archive from src to its end and stages the wanted members in the batch: see
// [archive.Read]. No file is visible before [Batch.Commit]. The caller must not commit after an
// error.
func (b *Batch) Unpack(ctx context.Context, src io.Reader, u Unpacking) (map[string]Member, error) {
	to := staging{b, u, map[string]Member{}}
	if err := archive.Read(ctx, src, archive.Wanted{Name: u.Name, Sum: u.Sum, Members: u.Members}, to); err != nil {
		return nil, err
	}
	return to.got, nil
}

// staging stages members in a batch.
type staging struct {
	b   *Batch
	u   Unpacking
	got map[string]Member
}

// Create implements [archive.MemberWriter].
func (s staging) Create(name string) (io.WriteCloser, error) {
	file, err := s.b.Create(path.Join(s.u.Dir, name), s.u.Spec)
	if err != nil {
		return nil, err
	}
	return stagedMember{file, name, s.got}, nil
}

// Scratch implements [archive.MemberWriter].
func (s staging) Scratch() (io.ReadWriteSeeker, error) {
	file, err := s.b.scratch(s.u.Dir)
	if err != nil {
		return nil, err
	}
	return scratch{file, s.u.Dir}, nil
}

// stagedMember records its digest and size when it is closed.
type stagedMember struct {
	*Staged
	name string
	got  map[string]Member
}

func (m stagedMember) Close() error {
	if err := m.Staged.Close(); err != nil {
		return err
	}
	m.got[m.name] = Member{SHA256: m.Sum(), Size: m.Size()}
	return nil
}

// scratch adds advice to the errors of a full disk.
type scratch struct {
	io.ReadWriteSeeker
	dir string
}

func (s scratch) Write(p []byte) (int, error) {
	n, err := s.ReadWriteSeeker.Write(p)
	if err != nil {
		return n, hostpath.Explain("write below", s.dir, unwrapPath(err))
	}
	return n, nil
}
