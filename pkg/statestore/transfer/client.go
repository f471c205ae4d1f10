// Package transfer makes HTTP requests for stores and assets: with limits, through the proxy of the
// environment, and with errors that say what to do.
//
// It does not verify the content. The reader knows the hash.
package transfer

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// The limits of one request. The whole request has no limit: a big asset on a slow line is no
// error, but a line without any traffic is.
const (
	connect = 10 * time.Second // to the server or the proxy; the same again for TLS
	// Stall is how long a server may send less than [Floor].
	Stall = 30 * time.Second
	// Floor is the minimum number of bytes per second. dnf has the same two values (minrate,
	// timeout):
	// https://dnf.readthedocs.io/en/latest/conf_ref.html
	Floor = 1 << 10
)

// Client makes requests. It is safe for concurrent use, and reuses its connections to a server.
type Client struct {
	HTTP  *http.Client
	Stall time.Duration // how long less than Floor is accepted
	// StoreCA is the file of CAs that replace the machine's own, for errors; "" if there is none.
	StoreCA string
}

// Redirects decides on a redirect, as CheckRedirect of [http.Client] does. Its error is permanent
// if [Refuse] made it.
type Redirects func(r *http.Request, via []*http.Request) error

// NewClient returns a client. It does not use the default client, which has no limits and which any
// code in the process may change. settings may be nil for the machine's own CAs. The client
// requests no compression, because the hash is of the stored bytes.
func NewClient(settings *tls.Config, redirects Redirects) *Client {
	return &Client{HTTP: &http.Client{Transport: NewTransport(settings), CheckRedirect: redirects}, Stall: Stall}
}

// NewTransport returns the transport of a [Client].
func NewTransport(settings *tls.Config) *http.Transport {
	t := &http.Transport{ForceAttemptHTTP2: true, DisableCompression: true, TLSClientConfig: settings}
	Bound(t)
	return t
}

// Bound sets our limits and our proxy in a transport that another package made. If a proxy refuses
// the connection to an https server, the error is one that [Explain] knows.
func Bound(t *http.Transport) {
	t.TLSClientConfig = cmp.Or(t.TLSClientConfig, &tls.Config{})
	t.TLSClientConfig.MinVersion = tls.VersionTLS12
	t.Proxy, t.OnProxyConnectResponse = Proxy, throughProxy
	t.DialContext = (&net.Dialer{Timeout: connect}).DialContext
	t.TLSHandshakeTimeout = connect
	t.MaxIdleConnsPerHost = 8
	t.IdleConnTimeout = Stall
	t.ResponseHeaderTimeout = Stall
}

// Get requests a URL. The body of the response fails if the server is too slow, and ends with ctx.
// The caller closes it. [Explain] makes the errors of Get and of reading the body. They show no
// URL.
func (c *Client) Get(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		cancel(err)
		return nil, errors.New("the URL is not valid: correct it")
	}
	maps.Copy(r.Header, header)
	r.Header.Set("User-Agent", "netwright")
	response, err := c.HTTP.Do(r)
	if err != nil {
		err = Explain(ctx, err, c.StoreCA)
		cancel(err)
		return nil, err
	}
	response.Body = LimitStalls(ctx, response.Body, c.Stall, cancel)
	return response, nil
}

// Close closes idle connections. The Client may still be used.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// Stamp identifies a state of a file from which a client was created.
type Stamp struct{ size, mtime int64 }

// StampOf returns the current state of a file; the zero Stamp if stat fails.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
}
