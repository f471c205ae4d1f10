package archive

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// packed is the compressed archive while it is read: it counts, hashes and reads ahead.
type packed struct {
	*readahead
	src *source
}

// source is the inner reader of packed. Only the goroutine of packed uses it until that has ended.
type source struct {
	stopped func() error
	r       io.Reader
	hash    hash.Hash
	n       int64
	err     error // error of reading r, if any
}

func newPacked(ctx context.Context, r io.Reader, by hash.Hash) *packed {
	src := &source{stopped: func() error { return context.Cause(ctx) }, r: r, hash: by}
	return &packed{readahead: startReadahead(src), src: src}
}

// Read implements [io.Reader].
func (s *source) Read(p []byte) (int, error) {
	if s.err = s.stopped(); s.err != nil {
		return 0, s.err
	}
	n, err := s.r.Read(p)
	s.hash.Write(p[:n])
	if s.n += int64(n); s.n > MaxPacked {
		return n, refuse("is larger than %d MiB", MaxPacked>>20)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// sum reads the archive to its end and returns its checksum.
func (p *packed) sum() Checksum {
	_, _ = io.Copy(io.Discard, p.readahead) // source.err has the error
	p.stop()
	return Checksum(hex.EncodeToString(p.src.hash.Sum(nil)))
}

// verdict returns the error for an archive, or nil. found is the error of decompressing and reading
// the tar archive. The hash is checked first: if it is wrong, any other error would mislead.
func (p *packed) verdict(want Wanted, found error) error {
	sum := p.sum()
	var refused *Error
	switch {
	case p.src.err != nil:
		return &SourceError{Name: want.Name, Bytes: p.src.n, Err: p.src.err}
	case errors.As(p.err, &refused): // too large to be read to its end
		return &Error{Name: want.Name, Problem: refused.Problem}
	case sum != want.Sum:
		bad := want.mismatch(sum, p.src.n)
		if errors.Is(found, io.ErrUnexpectedEOF) {
			bad.Problem = "is truncated: " + bad.Problem
		}
		return bad
	case errors.As(found, &refused):
		return &Error{Name: want.Name, Problem: refused.Problem, Right: true}
	case found != nil:
		return &Error{Name: want.Name, Problem: "is damaged as published: " + found.Error(), Right: true}
	}
	return nil
}

// Error says that an archive is not the wanted one, or that it must not be unpacked. No member may
// be installed. Another attempt with the same URL gets the same error.
type Error struct {
	Name    string
	Problem string
	// Right reports whether the hash is right. Then another URL has the same archive.
	Right bool
}

func (e *Error) Error() string { return e.Name + " " + e.Problem }

// SourceError says that reading an archive failed after so many bytes. Another attempt may succeed.
type SourceError struct {
	Name  string
	Bytes int64
	Err   error
}

func (e *SourceError) Error() string {
	return fmt.Sprintf("%s: read it, after %d bytes: %v", e.Name, e.Bytes, e.Err)
}

func (e *SourceError) Unwrap() error { return e.Err }

// refuse returns the reason for which an archive is refused. [packed.verdict] adds the name.
func refuse(format string, args ...any) error {
	return &Error{Problem: fmt.Sprintf(format, args...)}
}
