// Package support collects the files of a bug report in one archive, without secrets. Each piece
// has limits in time and size. A piece that fails is recorded, and the others continue. The
// [Redactor] removes secrets from every piece. The caller chooses the pieces.
package support

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"
)

// The limits of a piece.
const (
	PieceTime = 20 * time.Second
	PieceSize = 4 << 20 // bytes of text without secrets
)

// Piece is one file of the archive.
type Piece struct {
	Name  string // in the archive: "host/ip-route.txt"
	Text  string // description, for the manifest
	Limit time.Duration
	// Get returns the content. What it returns with an error is used too.
	Get func(ctx context.Context) ([]byte, error)
}

// Manifest lists what is in an archive, and what is missing.
type Manifest struct {
	Version string    `json:"version"` // ManifestVersion
	At      time.Time `json:"at"`
	Agent   string    `json:"agent"` // version of the agent
	Node    string    `json:"node"`
	Pieces  []Entry   `json:"pieces"`
}

// ManifestVersion names the JSON form of a [Manifest].
const ManifestVersion = "netwright.dev/support/v1"

// Entry is the result of one piece.
type Entry struct {
	Name  string  `json:"name"`
	Text  string  `json:"what"`
	Bytes int     `json:"bytes"`
	Took  float64 `json:"took"` // seconds
	// Redacted is the number of secrets that were removed.
	Redacted int    `json:"redacted,omitempty"`
	Cut      int    `json:"cut,omitempty"` // bytes that were cut off at the start
	Error    string `json:"error,omitempty"`
}

// Gather returns an archive (tar, gzip) of the pieces, which it makes at the same time. It fills m
// in and adds it as manifest.json. dir is the only directory in the archive.
func Gather(ctx context.Context, dir string, m *Manifest, pieces []Piece, r *Redactor) ([]byte, error) {
	m.Version, m.Pieces = ManifestVersion, make([]Entry, len(pieces))
	texts := make([][]byte, len(pieces))
	var all sync.WaitGroup
	for i := range pieces {
		all.Go(func() { texts[i], m.Pieces[i] = pieces[i].make(ctx, r) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("gather: %w", context.Cause(ctx))
	}
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the manifest: %w", err)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	put := func(name string, text []byte) error {
		head := &tar.Header{Name: path.Join(dir, name), Mode: 0o600, Size: int64(len(text)), ModTime: m.At,
			Typeflag: tar.TypeReg}
		if err := archive.WriteHeader(head); err != nil {
			return err
		}
		_, err := archive.Write(text)
		return err
	}
	err = put("manifest.json", append(manifest, '\n'))
	for i := range pieces {
		if len(texts[i]) > 0 {
			err = errors.Join(err, put(pieces[i].Name, texts[i]))
		}
	}
	if err := errors.Join(err, archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out.Bytes(), nil
}

// make makes one piece. It does not wait for a Get that does not return.
func (p *Piece) make(ctx context.Context, r *Redactor) ([]byte, Entry) {
	e := Entry{Name: p.Name, Text: p.Text}
	limit := cmp.Or(p.Limit, PieceTime)
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %s", limit))
	defer cancel()
	type made struct {
		text []byte
		err  error
	}
	done := make(chan made, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- made{err: fmt.Errorf("panic: %v", v)}
			}
		}()
		text, err := p.Get(ctx)
		done <- made{text, err}
	}()
	var got made
	select {
	case got = <-done:
	case <-ctx.Done():
		select {
		case got = <-done: // its error may say more
		case <-time.After(time.Second):
			got.err = context.Cause(ctx)
		}
	}
	text, n := r.Redact(got.text)
	if more := len(text) - PieceSize; more > 0 {
		text, e.Cut = text[more:], more // the end of a log matters most
	}
	e.Bytes, e.Redacted, e.Took = len(text), n, time.Since(began).Seconds()
	if got.err != nil {
		why, n := r.Redact([]byte(got.err.Error()))
		e.Error, e.Redacted = string(why), e.Redacted+n
	}
	return text, e
}
