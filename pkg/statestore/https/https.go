// Package https reads a published cluster from an HTTPS server that serves files and ETags.
//
// It refuses a redirect to another host or port or to plain http: the redirect would send the token
// to another server, and a captive portal is no store.
package https

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/statestore/objectstore"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

// Source reads the objects below a URL.
type Source struct {
	base     string // ends with a slash
	settings Settings
	client   reloaded
}

var _ objectstore.Source = (*Source)(nil)

// New returns the Source for cluster below u. It sends no request. Every error is permanent.
func New(u *url.URL, cluster string, settings Settings) (*Source, error) {
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("state store %s: a password in the URL would be seen by every user of this machine: "+
			"put a bearer token into a file and name it in storeTokenFile", u.Redacted())
	case u.Host == "":
		return nil, fmt.Errorf("state store %s: it names no host: write https://host/path", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("state store https://%s%s: a query or fragment cannot be part of it: write "+
			"https://host/path", u.Host, u.EscapedPath())
	case (settings.Cert == "") != (settings.Key == ""):
		return nil,
			errors.New("a client certificate needs its key, and a key its certificate: set both storeCert and " +
				"storeKey")
	}
	base := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}
	return &Source{base: base.String() + "/" + escape(cluster) + "/", settings: settings}, nil
}

// String implements [objectstore.Source].
func (s *Source) String() string { return strings.TrimSuffix(s.base, "/") }

// escape encodes a name for a URL. It also encodes a plus sign, which some servers read as a space.
func escape(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(part), "+", "%2B")
	}
	return strings.Join(parts, "/")
}

// Get implements [objectstore.Source].
func (s *Source) Get(ctx context.Context, name, known string, limit int64) (objectstore.Object, error) {
	header := http.Header{}
	if !strings.HasPrefix(name, "objects/") { // an object's name is the hash of its content
		header.Set("Cache-Control", "no-cache") // a cache in front of the server asks the server
	}
	if known != "" {
		header.Set("If-None-Match", known)
	}
	r, err := s.ask(ctx, name, header)
	if err != nil {
		return objectstore.Object{}, err
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusNotModified && known != "":
		return objectstore.Object{}, objectstore.ErrNotModified
	case r.StatusCode != http.StatusOK:
		return objectstore.Object{}, errors.Join(s.refused(name, r), transfer.Drain(r))
	}
	data, err := transfer.ReadObject(name, r.Body, r.ContentLength, limit)
	return objectstore.Object{Body: data, ETag: r.Header.Get("ETag")}, err
}

// Open implements [objectstore.Source].
func (s *Source) Open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	return transfer.Resume(ctx, func(ctx context.Context, from int64, etag string) (transfer.Part, error) {
		r, err := s.ask(ctx, name, transfer.Range(from, etag))
		if err != nil {
			return transfer.Part{}, err
		}
		if r.StatusCode != http.StatusOK && (r.StatusCode != http.StatusPartialContent || from == 0) {
			return transfer.Part{}, errors.Join(s.refused(name, r), transfer.Drain(r))
		}
		return transfer.PartOf(r, from)
	})
}

func (s *Source) ask(ctx context.Context, name string, header http.Header) (*http.Response, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	u, err := url.Parse(s.base + escape(name))
	if err != nil {
		return nil, fmt.Errorf("get %s: its name is not valid in a URL: %w", name, err)
	}
	client, err := s.client.get(s.settings)
	if err != nil {
		return nil, &objectstore.LocalError{Err: err}
	}
	token, err := s.settings.token()
	if err != nil {
		return nil, &objectstore.LocalError{Err: err}
	}
	if !token.IsZero() {
		header.Set("Authorization", "Bearer "+token.Reveal())
	}
	r, err := client.Get(ctx, u, header)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", name, err)
	}
	return r, nil
}

// refused returns the error for an answer without the object.
func (s *Source) refused(name string, r *http.Response) error {
	err := fmt.Errorf("get %s: the server says %s", name, r.Status)
	switch code := r.StatusCode; {
	case code == http.StatusNotFound, code == http.StatusGone:
		return problem.Missing("%w", err)
	case code == http.StatusForbidden && strings.HasPrefix(name, "objects/"):
		return objectstore.Denied(fmt.Errorf("%w: let this node read it: %s; if the server serves a directory, let "+
			"the server's user read the file there: a private key is published with mode 0600", err,
			s.settings.identity()))
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return objectstore.Denied(fmt.Errorf("%w: let this node read it: %s", err, s.settings.identity()))
	case transfer.IsTransient(code):
		return objectstore.Later(err, transfer.RetryAfter(r, time.Now()))
	}
	return fmt.Errorf("%w: set store to the URL below which the cluster is published", err)
}

// home refuses a redirect to another server, and sends the token with any other redirect.
func home(r *http.Request, via []*http.Request) error {
	const redirects = 3
	switch first := via[0].URL; {
	case r.URL.Scheme != "https" || server(r.URL) != server(first):
		return transfer.Refuse(fmt.Sprintf("redirected to %s://%s, which is not the store: set store to where the "+
			"objects are, or find out which server answers instead", r.URL.Scheme, r.URL.Host))
	case len(via) > redirects:
		return transfer.Refuse(fmt.Sprintf("more than %d redirects: set store to where the objects are", redirects))
	}
	r.Header["Authorization"] = via[0].Header["Authorization"] // net/http drops it if the host has another spelling
	return nil
}

// server returns the host and the port of an https URL in one form, because the host may be in
// upper case and the port left out.
// https://www.rfc-editor.org/rfc/rfc3986#section-6.2.2.1
func server(u *url.URL) string {
	return net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), "443"))
}
