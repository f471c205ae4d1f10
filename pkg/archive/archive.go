package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// Wanted says which checksum an archive must have, and which of its members the caller wants.
type Wanted struct {
	Name    string   // for messages: "cni-plugins v1.9.1"
	Sum     Checksum // of the compressed archive
	Members []string // base names; the last element of a member's path must be one of them
}

// MemberWriter writes the members of an archive. Read returns its errors unchanged.
type MemberWriter interface {
	// Create begins a member, which has this base name. Read closes it after it has written all of
	// it.
	Create(member string) (io.WriteCloser, error)
	// Scratch returns an empty file for data that is read twice. The MemberWriter removes the file.
	Scratch() (io.ReadWriteSeeker, error)
}

// The limits of an archive. An attacker who controls a mirror can send anything until the hash is
// known to be wrong, and must not fill the memory or the disk before.
const (
	MaxPacked   = 2 << 30 // compressed
	maxUnpacked = 4 << 30
	// A bigger archive than freeUnpacked must not unpack to more than maxRatio times its size.
	// Programs compress to a third, zeros to a thousandth.
	maxRatio     = 100
	freeUnpacked = 64 << 20
	maxEntries   = 100_000
)

// Read reads an archive from src to its end, and writes the wanted members to a writer. It hashes,
// decompresses and writes in one pass, each in a goroutine of its own. After an error the caller
// must not install the members.
//
// Read only writes regular files, under base names from want. It refuses an archive that has an
// entry with an absolute path or "..", or a wanted member that is a link or a device or that occurs
// twice. It also refuses a wrong hash, a damaged or endless archive, and a missing member. All of
// these are an [Error]. An error of reading src is a [SourceError]. Any other error is from the
// writer.
func Read(ctx context.Context, src io.Reader, want Wanted, to MemberWriter) error {
	for _, m := range want.Members {
		if m == "" || m == "." || m == ".." || strings.ContainsAny(m, "/\x00") {
			return &Error{Name: want.Name,
				Problem: fmt.Sprintf("member %q is not a base name: correct the configuration", m), Right: true}
		}
	}
	p := newPacked(ctx, src, want.Sum.hash())
	defer p.stop()
	err := (&extraction{want: want, to: to, got: map[string]bool{}}).run(p)
	if sink, ok := errors.AsType[*writerError](err); ok {
		return sink.error
	}
	return p.verdict(want, err)
}

// Inspect checks an archive as [Read] does, and writes nothing. It serves callers that have no host
// to unpack on. Of an xz archive it only checks the hash, because decompressing xz needs a file.
func Inspect(ctx context.Context, src io.Reader, want Wanted) error {
	p := newPacked(ctx, src, want.Sum.hash())
	defer p.stop()
	return p.verdict(want, (&extraction{want: want, got: map[string]bool{}}).run(p))
}

// extraction reads the tar archive and writes the members.
type extraction struct {
	want  Wanted
	to    MemberWriter // nil to write nothing
	got   map[string]bool
	has   []string // names of the regular files, for the error message
	bytes int64
}

// writerError is an error of the MemberWriter, not of the archive.
type writerError struct{ error }

func (x *extraction) run(p *packed) error {
	plain, err := decompress(p, x.want, x.to)
	if err != nil || plain == nil {
		return err
	}
	defer plain.stop()
	t := tar.NewReader(plain)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the tar archive: %w", err)
		}
		if n > maxEntries {
			return refuse("has more than %d entries", maxEntries)
		}
		if err := x.entry(h, t); err != nil {
			return err
		}
	}
	// The checksum of the compression is after the end of the tar archive.
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return fmt.Errorf("read the end of the archive: %w", err)
	}
	for _, m := range x.want.Members {
		if !x.got[m] {
			return refuse("has no member %q, it has %s: correct the members in the configuration", m, x.list())
		}
	}
	return nil
}

// entry writes an entry of the archive if it is wanted.
func (x *extraction) entry(h *tar.Header, content io.Reader) error {
	if path.IsAbs(h.Name) || slices.Contains(strings.Split(h.Name, "/"), "..") {
		return refuse("has an entry %q that leads out of its directory", h.Name)
	}
	if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name := path.Base(h.Name)
	if !slices.Contains(x.want.Members, name) {
		x.has = append(x.has, name)
		return nil
	}
	if h.Typeflag != tar.TypeReg {
		return refuse("has its member %q as a link or device, not as a file", h.Name)
	}
	for record := range h.PAXRecords {
		// No program is sparse, and a sparse entry of a few bytes can unpack to any size.
		if strings.HasPrefix(record, "GNU.sparse.") {
			return refuse("has its member %q as a sparse file", h.Name)
		}
	}
	if x.got[name] {
		return refuse("has its member %q twice", name)
	}
	if x.bytes += h.Size; h.Size < 0 || x.bytes > maxUnpacked {
		return refuse("unpacks to more than %d MiB", maxUnpacked>>20)
	}
	x.got[name] = true
	if x.to == nil {
		if _, err := io.Copy(io.Discard, content); err != nil {
			return fmt.Errorf("read member %s: %w", name, err)
		}
		return nil
	}
	member, err := x.to.Create(name)
	if err != nil {
		return &writerError{err}
	}
	if err := copyMember(member, name, content); err != nil {
		return err
	}
	if err := member.Close(); err != nil {
		return &writerError{err}
	}
	return nil
}

// copyMember copies in small pieces, which fit into the cache of the processor.
func copyMember(to io.Writer, name string, content io.Reader) error {
	buf := pieces.Get().(*[piece]byte)
	defer pieces.Put(buf)
	for {
		n, err := content.Read(buf[:])
		if _, err := to.Write(buf[:n]); err != nil {
			return &writerError{err}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read member %s: %w", name, err)
		}
	}
}

// list returns the names in the archive, for a person who has to correct a name.
func (x *extraction) list() string {
	names := slices.AppendSeq(slices.Clone(x.has), maps.Keys(x.got))
	slices.Sort(names)
	if len(names) == 0 {
		return "no files"
	}
	const most = 40
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
