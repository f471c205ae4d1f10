package transfer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/graph"
)

// refusal is an error of ours that package net/http returns wrapped.
type refusal struct{ error }

// Unwrap returns the error.
func (r refusal) Unwrap() error { return r.error }

// Refuse returns a permanent error for a function of type [Redirects].
func Refuse(text string) error { return refusal{errors.New(text)} }

// throughProxy returns the error of a proxy that does not connect to an https server. Its status is
// from the proxy, not from the server. The error shows no password.
// https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6
func throughProxy(_ context.Context, proxy *url.URL, to *http.Request, r *http.Response) error {
	if r.StatusCode == http.StatusOK {
		return nil
	}
	err := fmt.Errorf("the proxy %s://%s says %s to a connection with %s", proxy.Scheme, proxy.Host, r.Status, to.Host)
	switch code := r.StatusCode; {
	case code == http.StatusProxyAuthRequired:
		err = fmt.Errorf("%w: put its user and password into HTTPS_PROXY of the unit", err)
	case IsTransient(code):
		err = graph.Transient(fmt.Errorf("%w: look at the proxy, and whether it reaches that server", err))
	default:
		err = fmt.Errorf("%w: let this node reach that server through it, or name the server in NO_PROXY of the unit",
			err)
	}
	return refusal{err}
}

// Explain returns the error of a request that got no complete answer, with what to do. The error is
// marked [graph.Transient] unless another attempt fails too. It omits the URL, which may contain a
// secret. ctx is the context of the request. If ctx has ended, Explain returns its cause.
// storeCA is the file that replaces the machine's CAs; "" if there is none.
func Explain(ctx context.Context, err error, storeCA string) error {
	if request, ok := errors.AsType[*url.Error](err); ok { // its text has the whole URL
		err = request.Err
	}
	var refused refusal
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrStalled):
		return graph.Transient(cause)
	case cause != nil:
		return cause
	case errors.As(err, &refused):
		return refused
	}
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		alert     *net.OpError
		dns       *net.DNSError
	)
	switch {
	case errors.As(err, &invalid) &&
		invalid.Reason == x509.Expired: // or not valid yet: the clock may be wrong early at boot
		// the text of err has the present time, so that each look would have another one
		return graph.Transient(fmt.Errorf("the server's certificate, or one above it, has expired or is not yet valid "+
			"(%s): look at this machine's clock, then at the server's certificate", certs.Describe(invalid.Cert)))
	case errors.As(err, &authority) && storeCA != "":
		return fmt.Errorf("%w: put the PEM of the server's CA into %s (storeCA), which replaces the machine's CAs", err,
			storeCA)
	case errors.As(err, &authority): // a process reads the machine's CAs only once (crypto/x509, systemRootsPool)
		return fmt.Errorf("%w: install the server's CA on this machine (ca-certificates) and restart the agent; for "+
			"a store, put it into the file of storeCA, which then replaces the machine's CAs", err)
	case errors.As(err, &hostname), errors.As(err, &invalid):
		return fmt.Errorf("%w: use the name that the server's certificate has", err)
	case errors.As(err, &alert) && alert.Op == "remote error": // a TLS alert, whose type has no exported name
		return fmt.Errorf("%w: check which TLS version the server requires, and whether it requires a client "+
			"certificate", err)
	case badProxy() != "":
		return graph.Transient(fmt.Errorf("%w: %s of the unit is not the URL of a proxy: write it as "+
			"http://user:password@host:port, where # is %%23, / is %%2F, @ is %%40 and %% is %%25 in user and password",
			err, badProxy()))
	// an error with ": socket: " is of this machine
	case errors.As(err, &dns) && !strings.Contains(dns.Err, ": socket: "):
		return graph.Transient(fmt.Errorf("%w: look at /etc/resolv.conf and at the name", err))
	}
	return graph.Transient(err)
}

// IsTransient reports whether a later request may succeed after this status.
func IsTransient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError && status != http.StatusNotImplemented
}

// RetryAfter returns the pause that a response requests; 0 if it requests none.
// https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
func RetryAfter(r *http.Response, now time.Time) time.Duration {
	text := r.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil {
		return time.Duration(max(seconds, 0)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
