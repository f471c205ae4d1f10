// Package assets opens the archives and programs that tasks install: from the state store, from
// files of this machine, and over HTTP.
//
// It does not verify them. The reader knows the sha256, and must install no byte before the sha256
// is verified. So a mirror, a proxy or a server without TLS can prevent an installation, but cannot
// change its content.
package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// Fetcher opens assets. It is safe for concurrent use, and reuses its connections to a server.
type Fetcher struct {
	store  statestore.Store
	client *transfer.Client
}

// New returns a Fetcher that finds relative URLs in store. The caller closes it after a pass.
func New(store statestore.Store) *Fetcher {
	return &Fetcher{store: store, client: transfer.NewClient(nil, follow)}
}

// Open opens the asset at a URL: a path relative to the cluster's directory in the store
// ("assets/x.tgz"), file://, http:// or https://. size is -1 when it is unknown. The caller closes
// body, which also ends when ctx ends. Errors of Open and of reading body are marked
// [graph.Transient] if another attempt may succeed, and are permanent otherwise. No error shows a
// password or the query of the URL.
func (f *Fetcher) Open(ctx context.Context, location string) (body io.ReadCloser, size int64, err error) {
	if _, _, isURL := strings.Cut(location, "://"); !isURL {
		return f.store.Open(ctx, location)
	}
	u, err := url.Parse(location)
	if err != nil { // its text contains the URL, which may hold a password at any position
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

// Close closes idle connections. The Fetcher may still be used.
func (f *Fetcher) Close() { f.client.Close() }

// show returns a URL that may be printed. It hides the query, which may be a signature that grants
// access.
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
	f, err := blob.Open(u.Path)
	if err != nil {
		return nil, 0, fmt.Errorf("open asset: %w: put it there, and let the agent's user read it, or name another URL "+
			"in spec.assets", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open asset: %w", err), f.Close())
	}
	return f, info.Size(), nil
}
