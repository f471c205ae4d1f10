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

// Wanted says what an archive must be, and which of its members are wanted.
type Wanted struct {
	Name    string   // for messages: "cni-plugins v1.9.1"
	Sum     Checksum // of the archive as it is fetched
	Members []string // base names; a member is found by its path's last element
}

// MemberWriter takes the members of an archive. Its errors come back as they are.
type MemberWriter interface {
	// Create begins a member, by its base name. It is closed when all of it was written.
	Create(member string) (io.WriteCloser, error)
	// Scratch is an empty file for what is read twice. Who has the writer takes it away.
	Scratch() (io.ReadWriteSeeker, error)
}

// Bounds of an archive. An attacker who answers for a mirror can send anything until
// the hash is known to be wrong: it must not fill the memory or the disk before.
const (
	MaxPacked   = 2 << 30 // as it is fetched
	maxUnpacked = 4 << 30
	// From freeUnpacked on, an archive must not unpack to more than maxRatio times its
	// size. Binaries pack to a third, zeros to a thousandth.
	maxRatio     = 100
	freeUnpacked = 64 << 20
	maxEntries   = 100_000
)

// Read reads an archive from src to its end and hands the wanted members to a writer.
// The archive is hashed, inflated and written in one pass, each on a
// goroutine of its own; the caller must not make the members visible after an error.
//
// Only regular files are ever handed over, under base names that the caller gave. An entry
// that is absolute or has "..", a wanted member that is a link or a device, or
// is there twice, makes the archive hostile: an [Error], as are a wrong hash, a
// damaged or an endless archive, and a member that it does not have. A
// [SourceError] is one of reading src. Anything else is of the writer.
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

// Inspect reads an archive as [Read] does, and keeps nothing of it: for who has no host to unpack
// it on. What is packed by xz is held against its hash alone, because to inflate it takes a file.
func Inspect(ctx context.Context, src io.Reader, want Wanted) error {
	p := newPacked(ctx, src, want.Sum.hash())
	defer p.stop()
	return p.verdict(want, (&extraction{want: want, got: map[string]bool{}}).run(p))
}

// extraction is the tar side of an unpacking.
type extraction struct {
	want  Wanted
	to    MemberWriter // nil: nothing is kept
	got   map[string]bool
	has   []string // regular files seen, for the message
	bytes int64
}

// writerError is an error of the writer, not of the archive.
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
	// Read on to where the checksum of the compression is.
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

// entry stages an entry if it is wanted.
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
		// Nothing that is built is sparse, and one such entry of a few bytes unpacks to any size.
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

// copyMember copies in pieces that stay in the processor's cache.
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

// list names what the archive has, for a person who has to correct a name.
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
