// Package transfer asks HTTP servers: within bounds, through the proxy of the environment, and with
// errors that say what to do. Stores and assets share it.
//
// It does not check what comes: whoever reads knows the hash.
package transfer

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"time"
)

// The bounds of one request. There is none on the whole of it: a big asset on a slow line is no
// fault, a line on which nothing moves is.
const (
	connect = 10 * time.Second // to the server or the proxy, and again for TLS
	// Stall is how long a server may send less than [Floor].
	Stall = 30 * time.Second
	// Floor is how many bytes a second must come. Both are as dnf has them (minrate, timeout):
	// https://dnf.readthedocs.io/en/latest/conf_ref.html
	Floor = 1 << 10
)

// Client asks servers. It is safe for several goroutines, and keeps connections for the next
// request to the same server.
type Client struct {
	HTTP  *http.Client
	Stall time.Duration // with less than Floor
}

// Redirects decides on a redirect, as [http.Client] asks it. Its error is permanent if [Refuse]
// made it.
type Redirects func(r *http.Request, via []*http.Request) error

// NewClient makes a client of our own: the default one has no bounds, and anybody in the process
// may change it. settings may be nil: the machine's own CAs. Bytes come as they are stored, because
// their hash is known.
func NewClient(settings *tls.Config, redirects Redirects) *Client {
	return &Client{HTTP: &http.Client{Transport: NewTransport(settings), CheckRedirect: redirects}, Stall: Stall}
}

// NewTransport is how a [Client] reaches servers.
func NewTransport(settings *tls.Config) *http.Transport {
	t := &http.Transport{ForceAttemptHTTP2: true, DisableCompression: true, TLSClientConfig: settings}
	Bound(t)
	return t
}

// Bound gives a transport that somebody else made our bounds and our proxy. A proxy that refuses to
// connect us with an https server is an error that [Explain] knows.
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

// metadata is where clouds give a machine its metadata and its credentials. Behind a proxy
// they would be the proxy's.
var metadata = []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23")}

// Proxy is the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a request. A cloud's
// metadata is never asked through one.
func Proxy(r *http.Request) (*url.URL, error) {
	if at, err := netip.ParseAddr(r.URL.Hostname()); err == nil {
		if slices.Contains(metadata, at) {
			return nil, nil
		}
	}
	return http.ProxyFromEnvironment(r)
}

// Get asks for a URL. The answer's body gives up when too little comes, and ends with ctx; the
// caller closes it. Its errors, and those of reading it, are what [Explain] makes of them, and show
// no URL.
func (c *Client) Get(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		cancel(err)
		return nil, errors.New("the URL makes no request: correct it")
	}
	maps.Copy(r.Header, header)
	r.Header.Set("User-Agent", "netwright")
	response, err := c.HTTP.Do(r)
	if err != nil {
		err = Explain(ctx, err)
		cancel(err)
		return nil, err
	}
	response.Body = LimitStalls(ctx, response.Body, c.Stall, cancel)
	return response, nil
}

// Close gives idle connections back. The Client may be used again.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// Stamp distinguishes one state of a file that a client was made of from another.
type Stamp struct{ size, mtime int64 }

// StampOf is how a file is now; the zero Stamp is one that cannot be seen.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{size: info.Size(), mtime: info.ModTime().UnixNano()}
}
