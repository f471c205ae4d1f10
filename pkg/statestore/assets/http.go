package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

const redirects = 5

var (
	errRedirects = transfer.Refuse(fmt.Sprintf("more than %d redirects: name the final URL in spec.assets",
		redirects))
	errDowngrade = transfer.Refuse("redirected from https to http: name a server in spec.assets that does not")
)

// follow allows a few redirects, which many mirrors use, but none from https to http.
func follow(r *http.Request, via []*http.Request) error {
	if len(via) > redirects {
		return errRedirects
	}
	if r.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
		return errDowngrade
	}
	return nil
}

// get opens an http or https URL. After an interruption it requests the rest if the server supports
// that.
func (f *Fetcher) get(ctx context.Context, u *url.URL) (io.ReadCloser, int64, error) {
	rest, size, err := transfer.Resume(ctx, func(ctx context.Context, from int64, etag string) (transfer.Part, error) {
		r, err := f.client.Get(ctx, u, transfer.Range(from, etag))
		if err != nil {
			return transfer.Part{}, fmt.Errorf("get asset %s: %w", show(u), err)
		}
		if r.StatusCode != http.StatusOK && (r.StatusCode != http.StatusPartialContent || from == 0) {
			return transfer.Part{}, errors.Join(refused(u, r), transfer.Drain(r))
		}
		return transfer.PartOf(r, from)
	})
	if err != nil {
		return nil, 0, err
	}
	return transfer.Name(rest, func(err error) error { return fmt.Errorf("get asset %s: %w", show(u), err) }), size, nil
}

// refused returns the error for an answer without the asset.
func refused(u *url.URL, r *http.Response) error {
	err := fmt.Errorf("get asset %s: the server says %s", show(u), r.Status)
	switch code := r.StatusCode; {
	case code == http.StatusNotFound, code == http.StatusGone:
		return fmt.Errorf("%w: correct the URL in spec.assets, or put the asset there", err)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%w: let this node read it, or name a mirror in spec.assetsMirror", err)
	case code == http.StatusProxyAuthRequired: // from the proxy of an http URL: see transfer.Bound for https
		return fmt.Errorf("%w: put the proxy's user and password into HTTP_PROXY of the unit", err)
	case transfer.IsTransient(code):
		return graph.Transient(err)
	}
	return fmt.Errorf("%w: correct the URL in spec.assets", err)
}
