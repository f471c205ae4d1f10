package assets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/netwright/netwright/pkg/graph"
)

// The bounds of one download. There is none on the whole of it: a big asset on a slow line is no fault, a line without a byte is.
const (
	connect   = 10 * time.Second // to the server or the proxy, and again for TLS
	stall     = 30 * time.Second
	redirects = 5
)

var (
	errStalled   = errors.New("not a byte came for too long: look at the server, the proxy and the MTU on the way")
	errRedirects = fmt.Errorf("more than %d redirects: name the asset's own place in spec.assets", redirects)
	errDowngrade = errors.New("redirected from https to http: name a server in spec.assets that does not")
)

// newClient makes a client of our own: the default one has no bounds, and anybody in the process may change it. HTTP_PROXY, HTTPS_PROXY and
// NO_PROXY hold as everywhere. Bytes come as they are stored, because their hash is known.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connect}).DialContext,
			TLSHandshakeTimeout:   connect,
			TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:     true,
			DisableCompression:    true,
			MaxIdleConnsPerHost:   4,
			IdleConnTimeout:       stall,
			ResponseHeaderTimeout: stall,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > redirects {
				return errRedirects
			}
			if r.URL.Scheme != "https" && via[len(via)-1].URL.Scheme == "https" {
				return errDowngrade
			}
			return nil
		},
	}
}

// get opens an http or https URL.
func (f *Fetcher) get(ctx context.Context, u *url.URL) (io.ReadCloser, int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	fail := func(err error) (io.ReadCloser, int64, error) {
		cancel(err)
		return nil, 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fail(fmt.Errorf("get asset %s: the URL makes no request: correct it in spec.assets", show(u)))
	}
	r.Header.Set("User-Agent", "netwright")
	response, err := f.client.Do(r)
	if err != nil {
		return fail(explain(ctx, u, err))
	}
	b := &body{rest: response.Body, stall: f.stall, done: cancel}
	b.explain = func(err error) error { return explain(ctx, u, err) }
	b.timer = time.AfterFunc(f.stall, func() { cancel(errStalled) })
	b.timer.Stop()
	if response.StatusCode != http.StatusOK {
		// A short answer is read to its end, so that the connection can serve the next try.
		_, _ = io.CopyN(io.Discard, b, 64<<10)
		return nil, 0, errors.Join(refused(u, response), b.Close())
	}
	return b, response.ContentLength, nil
}

// refused is the error of an answer without the asset.
func refused(u *url.URL, r *http.Response) error {
	err := fmt.Errorf("get asset %s: the server says %s", show(u), r.Status)
	switch code := r.StatusCode; {
	case code == http.StatusNotFound, code == http.StatusGone:
		return fmt.Errorf("%w: correct the URL in spec.assets, or put the asset there", err)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return fmt.Errorf("%w: let this node read it, or name a mirror in spec.assetsMirror", err)
	case code == http.StatusProxyAuthRequired:
		return fmt.Errorf("%w: put the proxy's user and password into HTTPS_PROXY of the unit", err)
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500 && code != http.StatusNotImplemented:
		return graph.Transient(err)
	}
	return fmt.Errorf("%w: correct the URL in spec.assets", err)
}

// explain is the error of a request that got no answer, or not all of it.
func explain(ctx context.Context, u *url.URL, err error) error {
	var request *url.Error
	if errors.As(err, &request) { // its text has the whole URL
		err = request.Err
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errStalled):
		return graph.Transient(fmt.Errorf("get asset %s: %w", show(u), errStalled))
	case cause != nil:
		return fmt.Errorf("get asset %s: %w", show(u), cause)
	case errors.Is(err, errRedirects), errors.Is(err, errDowngrade):
		return fmt.Errorf("get asset %s: %w", show(u), err)
	}
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		dns       *net.DNSError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired: // or not valid yet: early at boot the clock may be wrong
		return graph.Transient(fmt.Errorf("get asset %s: %w: look at this machine's clock, then at the server's certificate", show(u), err))
	case errors.As(err, &authority):
		return fmt.Errorf("get asset %s: %w: install the server's CA on this machine (ca-certificates)", show(u), err)
	case errors.As(err, &hostname), errors.As(err, &invalid):
		return fmt.Errorf("get asset %s: %w: use the name that the server's certificate has", show(u), err)
	case errors.As(err, &dns):
		return graph.Transient(fmt.Errorf("get asset %s: %w: look at /etc/resolv.conf and at the name", show(u), err))
	}
	return graph.Transient(fmt.Errorf("get asset %s: %w", show(u), err))
}

// body is an answer's body that gives up when nothing comes, and whose errors are explained.
type body struct {
	rest    io.ReadCloser
	stall   time.Duration
	timer   *time.Timer // runs while a read waits: a reader that is slow itself stalls nothing
	done    context.CancelCauseFunc
	explain func(error) error
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	b.timer.Reset(b.stall)
	n, err := b.rest.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.explain(err)
	}
	return n, err
}

var errClosed = errors.New("the asset was closed")

// Close implements [io.Closer].
func (b *body) Close() error {
	b.timer.Stop()
	b.done(errClosed)
	return b.rest.Close()
}
