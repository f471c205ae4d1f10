// Package assets opens what tasks install: from the state store, from files of this machine, and
// over HTTP.
//
// It does not check what it opens: whoever reads knows the sha256 and must not show a byte of it
// before that is right. So a mirror, a proxy or a plain-text server can stop an installation and
// never change one.
package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// Fetcher opens assets. It is safe for several goroutines and keeps connections for the next asset
// of the same server.
type Fetcher struct {
	store  statestore.Store
	client *transfer.Client
}

// New returns a Fetcher that finds relative URLs in store. Close it when a pass is over.
func New(store statestore.Store) *Fetcher {
	return &Fetcher{store: store, client: transfer.NewClient(nil, follow)}
}

// Open returns the bytes of a URL: relative to the cluster's directory in the store
// ("assets/x.tgz"), file://, http:// or https://. Size is -1 when unknown. The caller closes body;
// it also ends with ctx. Errors, those of reading body too, are marked [graph.Transient] when
// another attempt may not meet them, and are permanent otherwise. No error shows a password or a
// query of the URL.
func (f *Fetcher) Open(ctx context.Context, location string) (body io.ReadCloser, size int64, err error) {
	if _, _, isURL := strings.Cut(location, "://"); !isURL {
		return f.store.Open(ctx, location)
	}
	u, err := url.Parse(location)
	if err != nil { // its text has the URL in it, and a URL that does not parse may hold a password anywhere
		return nil, 0, errors.New("an asset's URL does not parse: write it as scheme://host/path, with special " +
			"characters percent-encoded and an IPv6 address in brackets, as in https://[fd00::1]:8443/path")
	}
	switch u.Scheme {
	case "file":
		return openFile(ctx, u)
	case "http", "https":
		return f.get(ctx, u)
	}
	return nil, 0, fmt.Errorf("open asset %s: no scheme %q is known: use a path in the store, file://, http:// or "+
		"https://", show(u), u.Scheme)
}

// Close gives idle connections back. The Fetcher may be used again.
func (f *Fetcher) Close() { f.client.Close() }

// show is a URL as it may be printed: a query may be a signature that lets anybody in.
func show(u *url.URL) string {
	shown := *u
	if shown.RawQuery != "" {
		shown.RawQuery = "…"
	}
	shown.Fragment = ""
	return shown.Redacted()
}

func openFile(ctx context.Context, u *url.URL) (io.ReadCloser, int64, error) {
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	if (u.Host != "" && u.Host != "localhost") || !filepath.IsAbs(u.Path) {
		return nil, 0, fmt.Errorf("open asset %s: a file URL names a path of this machine: write file:///path", show(u))
	}
	f, err := os.OpenFile(u.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe must not hang the pass
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, fmt.Errorf("open asset: %w: put it there, or name another URL in spec.assets", err)
		}
		return nil, 0, fmt.Errorf("open asset: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file: name a file in spec.assets", u.Path)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open asset: %w", err), f.Close())
	}
	return f, info.Size(), nil
}
