package facts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/secret"
)

// imdsBases are the addresses at which EC2 answers an instance about itself: IPv4, and IPv6 if it
// is enabled for the instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
var imdsBases = []string{"http://169.254.169.254", "http://[fd00:ec2::254]"}

// Limits of one request. The service is on the same machine, so a slow answer means that it is
// missing.
const (
	imdsConnect = 500 * time.Millisecond
	imdsAnswer  = time.Second
	imdsLargest = 64 << 10
	imdsToken   = "21600" // seconds
)

// imdsClient is a client of the instance metadata service, version 2 (IMDSv2), which needs a token.
// It never falls back to version 1. It uses no proxy, because a proxy would answer about another
// machine. It is safe for several goroutines.
type imdsClient struct {
	client *http.Client
	bases  []string

	mu    sync.Mutex
	base  string // the address that answered; "": none yet
	token secret.Text
}

// errNoMetadata means that no service answers: it does not exist, is disabled, or its answer does
// not arrive.
var errNoMetadata = errors.New("nobody answers: metadata is switched off (HttpEndpoint), or this is a container " +
	"without the host's network, where the hop limit of 1 stops the answer")

func newIMDS() *imdsClient {
	return &imdsClient{bases: imdsBases, client: &http.Client{
		Timeout:       imdsAnswer,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: imdsConnect}).DialContext,
			MaxIdleConnsPerHost: imdsAtOnce,
			MaxConnsPerHost:     imdsAtOnce,
			IdleConnTimeout:     imdsAnswer,
		},
	}}
}

// get reads a path below /latest/. It returns [fs.ErrNotExist] if the instance has no such item. If
// the service refuses the token, get requests a new one, once.
func (m *imdsClient) get(ctx context.Context, path string) (string, error) {
	for again := true; ; again = false {
		base, token, err := m.session(ctx)
		if err != nil {
			return "", err
		}
		body, status, err := m.ask(ctx, http.MethodGet, base+"/latest/"+path, "X-aws-ec2-metadata-token",
			token.Reveal())
		switch {
		case err != nil:
			return "", fmt.Errorf("ask the instance's metadata for %s: %w", path, err)
		case status == http.StatusOK:
			return body, nil
		case status == http.StatusNotFound:
			return "", problem.Missing("ask the instance's metadata for %s: it has none", path)
		case status == http.StatusUnauthorized && again:
			m.forget(token)
		default:
			return "", fmt.Errorf("ask the instance's metadata for %s: status %d", path, status)
		}
	}
}

// session returns the address of the service and a token for it.
func (m *imdsClient) session(ctx context.Context) (base string, token secret.Text, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.token.IsZero() {
		return m.base, m.token, nil
	}
	var errs []error
	for _, base := range m.bases {
		body, status, err := m.ask(ctx, http.MethodPut, base+"/latest/api/token",
			"X-aws-ec2-metadata-token-ttl-seconds", imdsToken)
		switch {
		case err == nil && status == http.StatusOK && body != "" && !strings.ContainsAny(body, "\r\n"):
			m.base, m.token = base, secret.New(body)
			return base, m.token, nil
		case err == nil && status == http.StatusForbidden:
			return "", secret.Text{}, fmt.Errorf("ask %s for a token: it refuses: metadata is switched off for this "+
				"instance (HttpEndpoint)", base)
		case err == nil:
			err = fmt.Errorf("status %d", status)
		}
		errs = append(errs, fmt.Errorf("ask %s for a token: %w", base, err))
	}
	return "", secret.Text{}, fmt.Errorf("%w: %w", errNoMetadata, errors.Join(errs...))
}

// forget drops a refused token, unless another goroutine has replaced it already.
func (m *imdsClient) forget(token secret.Text) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.token.Equal(token) {
		m.token = secret.Text{}
	}
}

// ask makes one request and reads an answer of limited size.
func (m *imdsClient) ask(ctx context.Context, method, url, header, value string) (body string, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", 0, err
	}
	req.Header.Set(header, value)
	res, err := m.client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close() // only read
	raw, err := io.ReadAll(io.LimitReader(res.Body, imdsLargest+1))
	if err != nil {
		return "", 0, err
	}
	if len(raw) > imdsLargest {
		return "", 0, fmt.Errorf("an answer of more than %d bytes", imdsLargest)
	}
	return string(raw), res.StatusCode, nil
}
